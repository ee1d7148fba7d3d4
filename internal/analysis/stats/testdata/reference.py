# Writes reference.json: what NumPy and SciPy say of the same data.
# Run: python3 -m venv v && v/bin/pip install numpy scipy && v/bin/python reference.py > reference.json
import itertools, json, platform
import numpy as np, scipy
from scipy import stats

rng = np.random.default_rng(20181)
samples = {
    # Student's sleep data (Cushny and Peebles 1905), extra hours under drug 2
    "sleep2": [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
    "three": [0.97, 1.01, 0.95], "four": [1.02, 1.1, 0.99, 1.2],
    "even": [4.0, 1.0, 3.0, 2.0], "tied": [2.0, 2.0, 2.0, 7.0, 2.0],
    "normal": rng.normal(10, 2, 17).round(6).tolist(), "skewed": rng.lognormal(0, 1, 12).round(6).tolist(),
}
ps = [0, 0.025, 0.1, 0.25, 0.5, 0.75, 0.99, 1]
describe = []
for name, x in samples.items():
    x = np.array(x)
    describe.append({"name": name, "x": x.tolist(), "mean": x.mean(), "sd": x.std(ddof=1), "median": np.median(x),
        "mad": stats.median_abs_deviation(x), "quantiles": [[p, np.quantile(x, p)] for p in ps],
        "geomean": stats.gmean(x) if (x > 0).all() else None})

# Student's t interval of the mean log, by SciPy.
student = []
for name in ("three", "four"):
    l = np.log(samples[name])
    low, high = stats.t.interval(0.95, len(l) - 1, l.mean(), stats.sem(l))
    student.append({"x": samples[name], "mid": np.exp(l.mean()), "low": np.exp(low), "high": np.exp(high)})

# The studentized bootstrap of the mean log over ALL n**n resamples: what random resampling converges to.
boot = []
for x in ([0.93, 0.95, 0.94, 0.99, 0.90], [1.01, 1.02, 1.00, 1.30, 1.03], [0.5, 0.52, 0.47, 0.55, 0.49, 0.51], [1.001, 1.4, 1.02, 1.0, 1.2, 1.9]):
    l = np.log(x); n = len(l); m = l.mean(); se = l.std(ddof=1) / np.sqrt(n)
    y = l[np.array(list(itertools.product(range(n), repeat=n)))]
    s = y.std(axis=1, ddof=1) / np.sqrt(n); s[s < 1e-12] = 0
    with np.errstate(divide="ignore"):
        t = np.sort((y.mean(axis=1) - m) / s)
    ref = stats.t.ppf(0.975, n - 1)
    q = lambda p: t[int(np.ceil(p * len(t))) - 1]
    below, above = np.clip(q(0.975), ref, 2 * ref), np.clip(-q(0.025), ref, 2 * ref)
    boot.append({"x": x, "mid": np.exp(m), "low": np.exp(m - below * se), "high": np.exp(m + above * se)})

print(json.dumps({"by": f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}",
    "describe": describe, "student": student, "bootstrap": boot}, indent=1))
