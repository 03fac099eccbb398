#loc = loc("a":1:2)
!t = tensor<2x?xcomplex<f64>>
module @m attributes {mhlo.num_partitions = 1 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<2x3xf32> {tf.aliasing_output = 0 : i32}, %arg1: !t {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<2x3xf32> {jax.result_info = "\22"}) {
    %c = stablehlo.constant dense<[[1.5, -2.0e-3], [0x7FC00000, 0.0]]> : tensor<2x2xf32>
    %h = stablehlo.constant dense<"0x00010203"> : tensor<4xi8>
    %cst = stablehlo.constant dense<0.0> : tensor<f32> loc(#loc)
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %1 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [1], precision = [DEFAULT, HIGH], algorithm = <a = 1> : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
    %2:2 = stablehlo.while(%i = %cst, %j = %0) : tensor<f32>, tensor<2xf32> cond {
      %3 = stablehlo.compare LT, %i, %i, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      stablehlo.return %i, %j : tensor<f32>, tensor<2xf32>
    }
    %4 = stablehlo.slice %arg0 [0:2, 0:3:1] : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %5 = "stablehlo.all_reduce"(%4) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<0> : tensor<1x1xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %6 = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %6 : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %7 = call @f(%5) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    stablehlo.custom_call @g(%2#1) {api_version = 4 : i32, backend_config = {a = [1, {}]}, operand_layouts = [dense<0> : tensor<1xindex>], result_layouts = []} : (tensor<2xf32>) -> ()
    return %7 : tensor<2x3xf32> loc(callsite("x"(#loc) at #loc9))
  }
  func.func private @f(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = "stablehlo.transpose"(%x) {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> (tensor<3x2xf32>)
    %1 = stablehlo.convolution(%x, %0) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    return %x : tensor<2x3xf32>
  }
}
#loc9 = loc("late")
