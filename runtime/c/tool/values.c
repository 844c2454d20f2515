/* Random inputs of the kinds that `inarch run` makes, of another generator; outputs as it prints them. */
#include "tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SHOWN 8

/* splitmix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014. */
static uint64_t next(tool_random *random)
{
    uint64_t word = random->state += 0x9e3779b97f4a7c15u;
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
    word = (word ^ word >> 27) * 0x94d049bb133111ebu;
    return word ^ word >> 31;
}

/* Nearly standard normal: twelve numbers from 0 to 1 have a sum of mean 6 and variance 1. */
static double normal(tool_random *random)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        sum += (double)(next(random) >> 11) / 9007199254740992.0;
    }
    return sum;
}

/* Floats: normal; integers: 0 or 1, indices of every table with two rows; bools: either. */
void tool_fill(tool_random *random, const inarch_port *port, void *data)
{
    const size_t size = (size_t)(port->dtype & 0xff) / 8;
    for (size_t at = 0; at < (size_t)port->bytes; at += size) {
        unsigned char *place = (unsigned char *)data + at;
        if (port->dtype == INARCH_F32) {
            const float value = (float)normal(random);
            memcpy(place, &value, size);
        } else if (port->dtype == INARCH_F64) {
            const double value = normal(random);
            memcpy(place, &value, size);
        } else {
            const uint64_t value = next(random) % 2;
            memcpy(place, &value, size); /* little endian */
        }
    }
}

static void print_value(int32_t dtype, const unsigned char *place)
{
    const int bits = dtype & 0xff;
    uint64_t word = 0;
    memcpy(&word, place, (size_t)bits / 8);
    if (dtype == INARCH_F32 || dtype == INARCH_F64) {
        float single;
        double value;
        memcpy(&single, place, sizeof(single));
        memcpy(&value, place, dtype == INARCH_F64 ? sizeof(value) : sizeof(single));
        printf("%.4g", dtype == INARCH_F64 ? value : (double)single);
    } else if (dtype == INARCH_I1) {
        fputs(word != 0 ? "True" : "False", stdout);
    } else if (dtype >> 8 != INARCH_INT && dtype >> 8 != INARCH_UINT) {
        printf("0x%0*" PRIx64, bits / 4, word); /* a float that is only stored: its bits */
    } else if (dtype >> 8 == INARCH_INT) {
        printf("%" PRId64, (int64_t)(word << (64 - bits)) >> (64 - bits));
    } else {
        printf("%" PRIu64, word);
    }
}

void tool_print(const inarch_port *port, const void *data)
{
    static const char *const names[] = {"int", "uint", "float"};
    const int32_t code = port->dtype >> 8, bits = port->dtype & 0xff;
    const int64_t count = port->bytes * 8 / bits;
    printf("%s: ", port->name);
    if (port->dtype == INARCH_I1) {
        fputs("bool[", stdout);
    } else if (code <= INARCH_FLOAT) {
        printf("%s%d[", names[code], (int)bits);
    } else {
        printf("%s[", inarch_dtype_name(port->dtype));
    }
    for (int32_t i = 0; i < port->rank; i++) {
        printf("%s%" PRId64, i == 0 ? "" : ", ", port->shape[i]);
    }
    fputs("] [", stdout);
    for (int64_t i = 0; i < count && i < SHOWN; i++) {
        fputs(i == 0 ? "" : ", ", stdout);
        print_value(port->dtype, (const unsigned char *)data + i * (bits / 8));
    }
    puts(count > SHOWN ? "] ..." : "]");
}
