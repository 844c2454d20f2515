// RUN: inarch-opt %s | inarch-opt | filecheck %s

// What a function without a body says of its arguments stays: which are results, and what they were declared as.
// CHECK: "func.func"() <{sym_name = "f", sym_visibility = "private"
// CHECK-SAME: arg_attrs = [{inarch.dtype = "ui8"}, {inarch.result}]
"func.func"() <{sym_name = "f", sym_visibility = "private", function_type = (memref<3xi8>, memref<3xf32>) -> (), arg_attrs = [{inarch.dtype = "ui8"}, {inarch.result}]}> ({}) : () -> ()
// CHECK: func.func private @g(memref<3xf32>) -> ()
func.func private @g(memref<3xf32>)
