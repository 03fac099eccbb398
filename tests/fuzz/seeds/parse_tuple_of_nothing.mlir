func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %t = "stablehlo.tuple"() : () -> tuple<>
  func.return %a : tensor<2xf32>
}
