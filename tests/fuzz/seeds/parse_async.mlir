!f = !stablehlo.future<tensor<4xf32>>
func.func @main(%x: tensor<4xf32>, %r: tensor<1xi32>) -> tensor<4xf32> {
  %s = "stablehlo.async_start"(%x, %r) ({
  ^bb0(%a: tensor<4xf32>, %b: tensor<1xi32>):
    %p = "stablehlo.collective_reduce"(%a, %b) ({
    ^bb0(%m: tensor<f32>, %n: tensor<f32>):
      %t = stablehlo.add %m, %n : tensor<f32>
      stablehlo.return %t : tensor<f32>
    }) {has_dynamic_root, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>, tensor<1xi32>) -> tensor<4xf32>
    stablehlo.return %p : tensor<4xf32>
  }) : (tensor<4xf32>, tensor<1xi32>) -> !f
  %d = call @end(%s) : (!f) -> tensor<4xf32>
  return %d : tensor<4xf32>
}
func.func private @end(%s: !f) -> tensor<4xf32> {
  %d = "stablehlo.async_done"(%s) : (!f) -> tensor<4xf32>
  return %d : tensor<4xf32>
}
