"""Quantiles of Student's t distribution, which intervals are made of."""

from __future__ import annotations

from functools import cache, partial, reduce

import polars as pl

CONFIDENCE = 0.975
"""Upper quantile of a two-sided 95 % interval."""
# fmt: off
FEW = (
    None, 12.706204736174694, 4.302652729749462, 3.1824463052837078, 2.7764451051977934, 2.5705818356363146,
    2.4469118511449786, 2.364624251592784, 2.306004135204166, 2.262157162798205, 2.228138851986274, 2.200985160091639,
    2.1788128296672284, 2.1603686564627913, 2.144786687917804, 2.131449545559776, 2.1199052992212546,
    2.1098155778333156, 2.1009220402410382, 2.0930240544083087, 2.085963447265864, 2.0796138447276795,
    2.0738730679040254, 2.0686576104190486, 2.0638985616280245, 2.0595385527532972, 2.0555294386428735,
    2.0518305164802846, 2.0484071417952454, 2.045229642132703, 2.0422724563012378, 2.039513446396408,
    2.0369333434601016, 2.0345152974493383, 2.0322445093177186, 2.030107928250343, 2.0280940009804502,
    2.0261924630291093, 2.0243941639119694, 2.022690920036761, 2.021075390306273, 2.019540970441376,
    2.0180817028184443, 2.016692199227824, 2.0153675744437636, 2.014103388880846, 2.012895598919429,
    2.0117405137297655, 2.010634757624232, 2.0095752371292392, 2.008559112100761, 2.007583770315836, 2.006646805061688,
    2.0057459953178687, 2.0048792881880564, 2.0040447832891455, 2.003240718847872, 2.002465459291007,
    2.0017174841452356, 2.000995378088267, 2.0002978220142604, 1.999623584994939, 1.9989715170333788,
    1.998340542520741, 1.997729654317693,
)
"""The quantile at `CONFIDENCE` for 0, 1, 2, … degrees of freedom, as SciPy gives it: importing SciPy takes 0.2 s."""
MANY = (
    1.9599639845400543, 2.372271230298563, 2.8224986157396117, 2.5558496795077232, 1.5895340533938236,
    0.7328982119816057, 0.6274804609510736, 0.12881285359619749, -1.7139281826235218,
)
"""The coefficients a of its expansion Σ aᵢ / nⁱ in n degrees of freedom, off by less than 1e-16 of it beyond `FEW`.

The first is the normal quantile. Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5, which has
the first five; the others were solved for with 80 digits.
"""
# fmt: on


def t_quantiles(count: pl.Expr, upper: float = CONFIDENCE) -> pl.Expr:
    """The quantile of Student's t with n - 1 degrees of freedom for each n (Float64); null below two values."""
    return count.map_batches(partial(_t_quantiles, upper=upper), return_dtype=pl.Float64, is_elementwise=True)


def _t_quantiles(counts: pl.Series, *, upper: float) -> pl.Series:
    if upper == CONFIDENCE:
        return pl.Series([t_quantile(count - 1) if count else None for count in counts.to_list()], dtype=pl.Float64)
    from scipy.special import stdtrit

    freedom = (counts.cast(pl.Int64).fill_null(1) - 1).clip(0)
    return pl.Series(stdtrit(freedom.to_numpy(), upper), dtype=pl.Float64).set(freedom == 0, None)


@cache
def t_quantile(freedom: int) -> float | None:
    """The quantile of Student's t at `CONFIDENCE`; None without a degree of freedom."""
    if freedom < len(FEW):
        return FEW[freedom]
    return reduce(lambda value, coefficient: value / freedom + coefficient, reversed(MANY))
