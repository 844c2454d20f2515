// RUN: inarch-opt %s --split-input-file -p simplify-graph | filecheck %s

// CHECK-LABEL: @identities_vanish
func.func @identities_vanish(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = graph.transpose %x perm = [0, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = graph.reshape %0 shape = [2, 3] : tensor<2x3xf32> -> tensor<2x3xf32>
  %2 = graph.broadcast_to %1 shape = [2, 3] : tensor<2x3xf32> -> tensor<2x3xf32>
  %3 = graph.concat %2 axis = 0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %4 = graph.clip %3 : tensor<2x3xf32> -> tensor<2x3xf32>
  %5 = graph.slice %4 starts = [0, 0] sizes = [2, 3] steps = [1, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %6 = graph.cast %5 to f32 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %6 : tensor<2x3xf32>
}
// CHECK-NEXT: func.return %x

// -----

// CHECK-LABEL: @near_identities_stay
func.func @near_identities_stay(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<4x3xf32> {
  // CHECK-NEXT: graph.clip %x low = 0.0
  %0 = graph.clip %x low = 0.0 : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: graph.clip %0 high = 1.0
  %1 = graph.clip %0 high = 1.0 : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: graph.slice %1 {{.*}} steps = [1, -1]
  %2 = graph.slice %1 starts = [0, 2] sizes = [2, 3] steps = [1, -1] : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: graph.concat
  %3 = graph.concat %2, %y axis = 0 : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<4x3xf32>
  func.return %3 : tensor<4x3xf32>
}

// -----

// CHECK-LABEL: @transposes_merge
func.func @transposes_merge(%x: tensor<2x3x4xf32>) -> tensor<3x4x2xf32> {
  %0 = graph.transpose %x perm = [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  %1 = graph.transpose %0 perm = [2, 0, 1] : tensor<4x2x3xf32> -> tensor<3x4x2xf32>
  func.return %1 : tensor<3x4x2xf32>
}
// CHECK-NEXT: graph.transpose %x perm = [1, 2, 0]

// -----

// CHECK-LABEL: @transpose_of_ones_is_a_reshape
func.func @transpose_of_ones_is_a_reshape(%x: tensor<1x8x1x4xf32>) -> tensor<8x1x1x4xf32> {
  %0 = graph.transpose %x perm = [1, 0, 2, 3] : tensor<1x8x1x4xf32> -> tensor<8x1x1x4xf32>
  func.return %0 : tensor<8x1x1x4xf32>
}
// CHECK-NEXT: graph.reshape %x shape = [8, 1, 1, 4]

// -----

// CHECK-LABEL: @elementwise_ops_broadcast_themselves
func.func @elementwise_ops_broadcast_themselves(%x: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = graph.broadcast_to %b shape = [2, 3] : tensor<3xf32> -> tensor<2x3xf32>
  %1 = graph.add %x, %0 : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
// CHECK-NEXT: graph.add %x, %b : tensor<2x3xf32>, tensor<3xf32>

// -----

// CHECK-LABEL: @keeps_a_broadcast_that_gives_the_shape
func.func @keeps_a_broadcast_that_gives_the_shape(%x: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = graph.broadcast_to %x shape = [2, 3] : tensor<3xf32> -> tensor<2x3xf32>
  %1 = graph.relu %0 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
// CHECK-NEXT: graph.broadcast_to

// -----

// CHECK-LABEL: @times_one_vanishes
func.func @times_one_vanishes(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = graph.constant dense<1.0> : tensor<2xf32>
  %1 = graph.mul %0, %x : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  %2 = graph.div %1, %0 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
// CHECK-NEXT: func.return %x

// -----

// -0.0 + 0.0 is 0.0: adding zero is not the identity on floats, but is on integers.
// CHECK-LABEL: @plus_zero_stays_on_floats
func.func @plus_zero_stays_on_floats(%x: tensor<2xf32>, %y: tensor<2xi32>) -> (tensor<2xf32>, tensor<2xi32>) {
  %0 = graph.constant dense<0.0> : tensor<2xf32>
  %1 = graph.add %x, %0 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  %2 = graph.constant dense<0> : tensor<2xi32>
  %3 = graph.add %y, %2 : tensor<2xi32>, tensor<2xi32> -> tensor<2xi32>
  func.return %1, %3 : tensor<2xf32>, tensor<2xi32>
}
// CHECK: %[[SUM:.*]] = graph.add %x
// CHECK-NEXT: func.return %[[SUM]], %y

// -----

// A softmax tells no zero from the other: a mask that hides nothing vanishes, but not where somebody else reads the sum.
// CHECK-LABEL: @masks_of_nothing
func.func @masks_of_nothing(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = graph.constant dense<0.0> : tensor<3xf32>
  %1 = graph.add %x, %0 : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  %2 = graph.softmax %1 axis = 1 : tensor<2x3xf32> -> tensor<2x3xf32>
  %3 = graph.add %y, %0 : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  %4 = graph.softmax %3 axis = 1 : tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %2, %3, %4 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}
// CHECK: graph.softmax %x axis = 1
// CHECK: %[[SUM:.*]] = graph.add %y
// CHECK-NEXT: graph.softmax %[[SUM]] axis = 1

// -----

// CHECK-LABEL: @unused_ops_disappear
func.func @unused_ops_disappear(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = graph.exp %x : tensor<2xf32> -> tensor<2xf32>
  %1 = graph.neg %0 : tensor<2xf32> -> tensor<2xf32>
  func.return %x : tensor<2xf32>
}
// CHECK-NEXT: func.return %x

// -----

// What a constant condition never takes; one that does not decide alone, or whose side broadcasts, stays.
// CHECK-LABEL: @selects
// CHECK-NOT:  dense<false>
// CHECK:      %[[WIDE:.*]] = graph.select %{{.*}}, %y, %x
// CHECK:      %[[EACH:.*]] = graph.select %{{.*}}, %x, %x
// CHECK-NEXT: func.return %x, %x, %[[WIDE]], %[[EACH]]
func.func @selects(%x: tensor<2xf32>, %y: tensor<1xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %no = graph.constant dense<false> : tensor<1xi1>
  %yes = graph.constant dense<true> : tensor<2xi1>
  %some = graph.constant dense<[true, false]> : tensor<2xi1>
  %0 = graph.select %no, %y, %x : tensor<1xi1>, tensor<1xf32>, tensor<2xf32> -> tensor<2xf32>
  %1 = graph.select %yes, %x, %y : tensor<2xi1>, tensor<2xf32>, tensor<1xf32> -> tensor<2xf32>
  %2 = graph.select %yes, %y, %x : tensor<2xi1>, tensor<1xf32>, tensor<2xf32> -> tensor<2xf32>
  %3 = graph.select %some, %x, %x : tensor<2xi1>, tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return %0, %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// What is stored narrow is widened once.
// CHECK-LABEL: @widened_once
func.func @widened_once(%x: tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.cast %x to f32 : tensor<4xf16> -> tensor<4xf32>
  %1 = graph.cast %x to f32 : tensor<4xf16> -> tensor<4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
// CHECK-NEXT: %[[W:.*]] = graph.cast %x to f32
// CHECK-NEXT: func.return %[[W]], %[[W]]
