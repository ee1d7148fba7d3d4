# Writes twosample.json: what SciPy says of two independent samples.
# Run: python3 -m venv v && v/bin/pip install numpy scipy && v/bin/python twosample.py > twosample.json
import json, platform
import numpy as np, scipy
from scipy import stats

rng = np.random.default_rng(34)
pairs = {
    "three": ([101.0, 99.5, 100.2], [110.1, 108.7, 111.0]),
    "uneven": ([4.1, 4.4, 4.2, 9.0, 4.3], [4.0, 4.5, 4.6, 4.2]),
    "ties": ([2.0, 2.0, 3.0, 3.0], [2.0, 3.0, 4.0, 4.0]),
    "nine": (rng.lognormal(0, 0.1, 9).round(6).tolist(), rng.lognormal(0.1, 0.3, 8).round(6).tolist()),
}

def t(x, y):
    with np.errstate(divide="ignore", invalid="ignore"):
        v = np.abs(stats.ttest_ind(y, x, equal_var=False).statistic)
    return np.inf if np.isinf(v) else 0.0 if np.isnan(v) else round(float(v), 9)

out = []
for name, (a, b) in pairs.items():
    x, y = np.log(a), np.log(b)
    w = stats.ttest_ind(y, x, equal_var=False)
    ci = w.confidence_interval(0.95)
    perm = stats.permutation_test((x, y), t, permutation_type="independent", n_resamples=np.inf, alternative="greater", vectorized=False)
    out.append({"name": name, "a": a, "b": b, "df": w.df, "ratio": np.exp(y.mean() - x.mean()), "low": np.exp(ci.low), "high": np.exp(ci.high),
        "above105": stats.ttest_ind(y - np.log(1.05), x, equal_var=False, alternative="greater").pvalue,
        "below095": stats.ttest_ind(y - np.log(0.95), x, equal_var=False, alternative="less").pvalue, "p": perm.pvalue})
print(json.dumps({"made_by": f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}", "pairs": out}, indent=1))
