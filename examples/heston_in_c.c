/* Reads parameters and strikes from the command line, and prints a line of price and slopes for each strike. */
#include <stdio.h>
#include <stdlib.h>
#include "prices_and_slopes.h"

enum { PARAMETERS = PRICES_AND_SLOPES_PARAMETERS_SIZE, STRIKES = PRICES_AND_SLOPES_STRIKES_SIZE };

int main(int count, char **given)
{
    static double parameters[PARAMETERS], strikes[STRIKES], prices[STRIKES], slopes[STRIKES][PARAMETERS];
    if (count != 1 + PARAMETERS + STRIKES)
        return 2;
    for (int i = 0; i < PARAMETERS; i++)
        parameters[i] = atof(given[1 + i]);
    for (int i = 0; i < STRIKES; i++)
        strikes[i] = atof(given[1 + PARAMETERS + i]);
    void *workspace = malloc(PRICES_AND_SLOPES_WORKSPACE_SIZE);
    int code = prices_and_slopes(parameters, strikes, prices, *slopes, workspace);
    free(workspace);
    for (int i = 0; !code && i < STRIKES; i++) {
        printf("%.17g", prices[i]);
        for (int j = 0; j < PARAMETERS; j++)
            printf(" %.17g", slopes[i][j]);
        printf("\n");
    }
    return code;
}
