# Writes scipy.json: what SciPy says of the same data.
# Run: python3 -m venv v && v/bin/pip install scipy && v/bin/python scipy_reference.py > scipy.json
import json, platform
import numpy as np, scipy
from scipy import stats

rng = np.random.default_rng(1947)
ratios = {
    "three": [0.97, 1.01, 0.95],
    "four": [1.02, 1.1, 0.99, 1.2],
    "five": [1.01, 1.02, 0.995, 1.013, 1.004],
    "tied": [1.01, 1.01, 0.99, 1.0, 1.02, 1.01],
    "one stuck": [1.01, 0.99, 5.0, 1.02, 0.98, 1.0, 1.01],
    "ten": np.exp(rng.normal(0.01, 0.02, 10)).round(6).tolist(),
    "skewed": np.exp(rng.exponential(0.05, 13)).round(6).tolist(),
    # Darwin's maize as Fisher tested it, in hundredths of an eighth of an inch.
    "maize": np.exp(np.array([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]) / 100).tolist(),
    "sixteen": np.exp(rng.standard_t(2, 16) * 0.01).round(6).tolist(),
    "thirty": np.exp(rng.normal(-0.004, 0.01, 30)).round(6).tolist(),
}
flips, chance, tost, intervals, bca = [], [], [], [], []
for name, x in ratios.items():
    l = np.log(x)
    if len(x) <= 16:
        flips.append({"x": x, "p": stats.permutation_test((l,), np.mean, permutation_type="samples", n_resamples=np.inf).pvalue})
    else:
        chance.append({"x": x, "p": stats.permutation_test((l,), np.mean, permutation_type="samples", n_resamples=199_999, rng=rng).pvalue})
    for margin in (0.01, 0.03, 0.1):
        low = stats.ttest_1samp(l, np.log(1 - margin), alternative="greater").pvalue
        high = stats.ttest_1samp(l, np.log(1 + margin), alternative="less").pvalue
        tost.append({"x": x, "margin": margin, "p": max(low, high)})
    if len(x) < 5:
        for confidence in (0.9, 0.95, 0.975):
            low, high = stats.t.interval(confidence, len(l) - 1, l.mean(), stats.sem(l))
            intervals.append({"x": x, "confidence": confidence, "mid": stats.gmean(x), "low": np.exp(low), "high": np.exp(high)})
    if len(x) >= 5 and name != "tied":
        for confidence in (0.9, 0.95):
            ci = stats.bootstrap((l,), np.mean, n_resamples=200_000, batch=20_000, method="BCa", confidence_level=confidence, rng=rng).confidence_interval
            bca.append({"x": x, "confidence": confidence, "mid": stats.gmean(x), "low": np.exp(ci.low), "high": np.exp(ci.high)})

holm = []
for p in ([0.01, 0.04, 0.03, 0.005], [0.5, 0.6, 0.02], [0.012, 0.012, 0.011], rng.uniform(0, 0.1, 20).round(6).tolist()):
    p = np.array(p)
    # By definition: the least level at which the step-down procedure rejects.
    times = np.array([(p >= v).sum() for v in p]) * p  # of equal values the first rank, the largest factor, decides
    holm.append({"p": p.tolist(), "adjusted": [min(1, times[p <= v].max()) for v in p]})

drift = []
for x in ([100, 101, 102.5, 101.5, 104], [5, 4, 4.5, 3, 3.5, 2], [1, 1.2, 0.9, 1.1, 1.05, 7, 0.95, 1.01],
          (100 * 1.004 ** np.arange(30) * np.exp(rng.normal(0, 0.03, 30))).round(4).tolist(),
          np.exp(rng.normal(0, 0.03, 60)).round(6).tolist(), [1, 1, 2, 2, 3, 3, 1], [2, 2, 2, 2, 1], [10, 9, 9, 9, 8, 7, 8]):
    l, blocks = np.log(x), np.arange(len(x))
    if len(set(x)) == len(x) and len(x) <= 50:
        p = stats.kendalltau(blocks, l, method="exact").pvalue
    else:
        # SciPy's normal approximation, to which the correction for continuity is added.
        s = sum(np.sign(l[j] - l[i]) for j in blocks for i in range(j))
        z = stats.norm.isf(stats.kendalltau(blocks, l, method="asymptotic").pvalue / 2)
        p = 2 * stats.norm.sf(z * (abs(s) - 1) / abs(s))
    drift.append({"x": x, "perBlock": np.expm1(stats.theilslopes(l, blocks).slope), "p": p})

print(json.dumps({"by": f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}",
    "flips": flips, "chance": chance, "tost": tost, "intervals": intervals, "holm": holm, "drift": drift, "bca": bca}, indent=1))
