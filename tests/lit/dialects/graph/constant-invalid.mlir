// RUN: inarch-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{'graph.constant' C0: expected a supported dtype, found tensor<2xcomplex<f32>>}}
%0 = graph.constant dense_resource<w> : tensor<2xcomplex<f32>>

// -----

// expected-error @below {{expected a dense constant, found 1 : i64}}
%0 = graph.constant 1 : i64
