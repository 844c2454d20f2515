/* inarch
computes = "for i in N: Y[i] += X[i]"
dtypes = {X = "f32", Y = "f32"}
layout = {X = [1], Y = [1]}
cost = 1
doc = "A row onto another one."
*/

void add_rows(const float *X, float *Y, int64_t X_0, int64_t Y_0, int64_t N)
{
    for (int64_t i = 0; i < N; i++)
        Y[i] += X[i];
    (void)X_0, (void)Y_0;
}
