"""Derivatives of special functions in far tails, in parameters and of high orders.

Numbers of many digits are from mpmath 1.3 with 50 digits, by differences of its own functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.special

import namedgrad as ng
from tests.special.slopes import slopes
from tests.support.oracles import richardson

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


# function, operands, which operand, derivatives of order 1, 2, ...
KNOWN: list[tuple[str, tuple[float, ...], int, list[float]]] = [
    ("gammainc", (1e-3, 1e-8), 0, [-17.529499859061197, 311.20234928205355]),
    ("gammainc", (0.1, 0.4), 0, [-0.7420899583876511, -0.27822265738690416]),
    ("gammainc", (0.5, 9.0), 0, [-9.4049524300409e-05, -0.00029157642669259975]),
    ("gammainc", (3.0, 0.56), 0, [-0.036242041140814564, 0.06275475480823099]),
    ("gammainc", (50.0, 30.0), 0, [-0.0002830094447125904, 0.00014481829548814478]),
    ("gammainc", (300.0, 290.0), 0, [-0.01975962427698402, 0.0006700863852538566]),
    ("gammainc", (3000.0, 3100.0), 0, [-0.0014031076087078632, -4.600891492373887e-05]),
    ("gammainc", (0.5, 30.0), 0, [-5.118991143389857e-14, -2.2944585712327425e-13]),
    ("betainc", (0.2, 0.3, 1e-3), 0, [-1.3911674441307464]),
    ("betainc", (0.2, 0.3, 1e-3), 1, [0.24945928008181348]),
    ("betainc", (1e-3, 3.0, 0.5), 0, [-0.06828313751973099]),
    ("betainc", (2.5, 30.0, 0.1), 1, [0.018122595554742257]),
    ("betainc", (200.0, 300.0, 0.4), 0, [-0.02187222709479697]),
    ("betainc", (200.0, 300.0, 0.4), 1, [0.014577434606090345]),
    ("betainc", (8.0, 0.3, 0.999), 0, [-0.010041534067011006]),
    ("betainc", (8.0, 0.3, 0.999), 1, [1.2090370172770852]),
    ("erfcx", (-5.0,), 0, [-1440097986747.7388, 14688999464826.709]),
    ("erfcx", (0.0,), 0, [-1.1283791670955126, 2.0]),
    ("erfcx", (1.5,), 0, [-0.16362291773256007, 0.1523020797109548]),
    ("erfcx", (10.0,), 0, [-0.0055593122190608565, 0.0010957411064280369]),
    ("erfcx", (1e4,), 0, [-5.641895750849127e-09, 1.1283791332441374e-12]),
    ("log_ndtr", (-1e6,), 0, [1000000.000001, -0.999999999999]),
    ("log_ndtr", (-40.0,), 0, [40.02496884720726, -0.9993773316214086]),
    ("log_ndtr", (-3.0,), 0, [3.2830986549304364, -0.9294408132147319]),
    ("log_ndtr", (5.0,), 0, [1.4867199409049056e-06, -7.433601914860711e-06]),
    ("log_ndtr", (20.0,), 0, [5.520948362159764e-88, -1.1041896724319527e-86]),
    ("log_ndtr", (-1000000.0,), 0, [1000000.000001, -0.999999999999, 1.999999999976e-18, 5.99999999988e-24]),
    ("log_ndtr", (-1000.0,), 0, [1000.000999998, -0.99999900000599995, 1.9999760002999959e-9, 5.9998800020999627e-12]),
    ("log_ndtr", (-10.5,), 0, [10.593583926132378, -0.9913891756203221, 0.0015586006403870089, 0.00041632950789718142]),
    ("log_ndtr", (-9.5,), 0, [9.6030500903842821, -0.98959517977888859, 0.0020598629552881804, 0.00059988367187445417]),
    ("log_ndtr", (0.5,), 0, [0.50916043383703349, -0.5138245643036329, 0.27099012446870783, 0.088167801929197554]),
    ("zeta", (1.5, 0.01), 0, [4601.2305426586, 21223.58110277858]),
    ("zeta", (2.0, 1.0), 0, [-0.9375482543158438, 1.989280234298901]),
    ("zeta", (3.7, 40.0), 0, [-7.325284411520483e-05, 0.0002989247333821235]),
    ("zeta", (12.0, 0.5), 0, [2839.1277107454166, 1967.9368266995828]),
    ("kve", (0.3, 1e-3), 0, [62.16130073524428, 401.26084551861084]),
    ("kve", (2.5, 5.0), 0, [0.43024637506943525, 0.3553821959610779]),
    ("kve", (10.0, 0.1), 0, [1.0771980423678923e19, 5.674200563820085e19]),
    ("kve", (60.5, 30.0), 0, [1.481900594588627e21, 2.1557747541944762e21]),
    ("kve", (1.0, 500.0), 0, [0.00011207183083446903, 0.00011229560200243257]),
    ("ellipkinc", (0.3, -1e6), 1, [2.7022368409880286e-9, 3.803357649409395e-15, 9.1334002807784775e-21]),
    ("ellipkinc", (1.2, -1e12), 1, [6.9111037749552292e-18, 1.0116655662428129e-29, 2.4916639156058725e-41]),
    ("ellipkinc", (1.57, -1e6), 1, [3.6466240469425488e-9, 5.219933648247147e-15, 1.2674828252705519e-20]),
    ("ellipkinc", (10.0, -1e12), 1, [4.9097303183459691e-17, 7.1895954775155964e-29, 1.7711488693780729e-40]),
    ("ellipkinc", (1.2, -1e30), 1, [1.7272736693433336e-44, 2.5659105040150004e-74, 6.3772762600375008e-104]),
    ("ellipeinc", (0.3, -1e6), 1, [-2.2330279319350044e-5, -1.1163788541254528e-11, -1.6743781133057087e-17]),
    ("ellipeinc", (1.2, -1e12), 1, [-3.1882112275808264e-7, -1.5941056137558577e-19, -2.3911584205832032e-31]),
    ("ellipeinc", (10.0, -1e12), 1, [-3.0804642354363501e-6, -1.5402321176936264e-18, -2.3103481765044916e-30]),
    ("ellipk", (-1e154,), 0, [8.8842673260830699e-230]),
    ("ellipe", (-1e200,), 0, [-5e-101, -2.5e-301]),  # of sqrt(-m)
    ("rel_entr", (5e-324, 0.3), 0, [math.log(5e-324) - math.log(0.3) + 1]),
    ("kl_entr", (1e-20, 1e300), 0, [-320 * math.log(10), 1e20]),
    ("inv_boxcox1p", (-50.0, 0.0), 0, [math.exp(-50.0), math.exp(-50.0)]),
    ("inv_boxcox1p", (-50.0, 0.001), 0, [5.5703397344684711e-23, 5.8576519944568448e-23]),
    ("inv_boxcox1p", (-1e8, -1.0), 1, [-1.7420680589745559e-7]),
    ("inv_boxcox", (1e75, 0.5), 1, [-1.7100073479399346e152, 1.1764700813951873e155, -8.1407967400171631e157]),
    ("inv_boxcox", (1e100, 1.0), 1, [-2.2925850929940457e102, 5.3016981104783981e104, -1.2365743946019413e107]),
    ("inv_boxcox1p", (1e154, 5.0), 1, [-1.2369045039136806e32, 1.8068377713624686e33, -2.7105678164257312e34]),
    ("inv_boxcox", (1e300, 1.0), 1, [-6.8977552789821374e302, 4.7716882994305585e305]),
    ("inv_boxcox", (1e300, 2e10), 1, [-1.783736378745278e-18, 1.7824864105177756e-28]),
    ("inv_boxcox1p", (-1e30, -1e3), 1, [-6.9498619833455247e-5, -1.3285903442496285e-7]),
    ("inv_boxcox", (1e300, 1e300), 1, [0.0, 0.0]),
    ("ive", (0.3, 100000000.0), 0, [-1.1968268481458937e-13, -3.9894228235624987e-13]),
    ("ive", (5.0, 1000000.0), 0, [-1.9946877149300845e-9, -3.9892756953913109e-10]),
    ("ive", (50.0, 10000.0), 0, [-1.7604187839419003e-5, -2.6405584821611966e-7]),
    ("ive", (0.25, 40.0), 0, [-0.00040025284453418598, -0.0015984554173018382]),
    ("sinc", (1e-12,), 0, [-3.289868133696453e-12, -3.289868133696453, 1.9481818206800487e-11]),
    ("sinc", (0.3,), 0, [-0.9020281301388888, -2.4584852862661744, 5.24749315292437]),
    ("sinc", (0.9,), 0, [-1.178165467869117, 1.5394726848616678, 5.297926138140398]),
    ("sinc", (300.5,), 0, [-3.525016665887311e-06, -0.010454527798856778, 0.00010437132577893621]),
    ("tanh", (0.0,), 0, [1.0, 0.0, -2.0, 0.0, 16.0]),
    ("tanh", (200.0,), 0, [4 * np.exp(-400.0), -8 * np.exp(-400.0), 16 * np.exp(-400.0)]),
    ("arcsin", (1e-9,), 0, [1.0, 1e-9, 1.0]),
    ("arctanh", (1e-9,), 0, [1.0, 2e-9, 2.0]),
    ("arcsinh", (1e-9,), 0, [1.0, -1e-9, -1.0]),
    ("arccosh", (1e120,), 0, [1e-120, -1e-240]),
    ("arccosh", (1.0,), 0, [np.inf, -np.inf, np.inf, -np.inf]),
    ("arccosh", (1.5,), 0, [2 / 5**0.5, -12 / 5**1.5, 176 / 5**2.5, -4320 / 5**3.5]),
    ("silu", (1e-20,), 0, [0.5, 0.5, -5e-21, -0.5]),
    ("silu", (-700.0,), 0, [-699 * math.exp(-700.0), -698 * math.exp(-700.0), -697 * math.exp(-700.0)]),
    ("i1", (1e-9,), 0, [0.5, 3.75e-10, 0.375]),
    ("i1", (1e-300,), 0, [0.5, 3.75e-301, 0.375]),
    ("iv", (1.0, 5e-324), 1, [0.5]),
    ("expit", (-40.0,), 0, [np.exp(-40.0), np.exp(-40.0)]),
    ("expit", (40.0,), 0, [np.exp(-40.0), -np.exp(-40.0)]),
    ("expit", (1e-8,), 0, [0.25, -1.25e-9, -0.125]),
    ("expit", (1e-280,), 0, [0.25, -1.25e-281]),
    ("exp2", (1024.0000000000002,), 0, [1.2460659279419801e308, 8.637070847447956e307]),  # whose value overflows
    ("arctan", (1e100,), 0, [1e-200, -2e-300]),
    ("betainc", (1.5, 0.5, 0.0), 2, [0.0, np.inf, -np.inf, np.inf]),  # x**0.5 and powers that are lower
    ("betainc", (0.5, 1.5, 1.0), 2, [0.0, -np.inf, -np.inf, -np.inf]),
    ("betaln", (-1.0, 1.0), 0, [1.0, 1.0, 2.0]),  # of 1 / a
    ("betaln", (-2.0, 2.0), 0, [1.5, 1.25]),  # of 1 / (a (a + 1))
    ("betaln", (1e8, 0.3), 0, [-3.0000000104999999e-9, 3.0000000209999999e-17]),
    ("betaln", (3.0, 1e-9), 0, [-3.9493406677116956e-10, 1.5411380625971888e-10]),
    ("betaln", (1e6, 1.0), 0, [-1e-6, 1e-12, -2e-18]),  # of 1 / a
    ("beta", (-3.0, 2.0), 0, [5 / 36]),
    ("digamma", (-1e12 + 0.25,), 0, [19.739208802177717, -124.02510672119928]),  # pi**2 / sin(pi x)**2
    # next to whole numbers below 0, where products nearly cancel (mpmath 1.3 with 80 digits)
    ("binom", (5.3, -0.999999999999), 1, [0.15873015873095078, 0.7920749208083077]),
    ("binom", (-3.05, -1.05), 0, [-0.46457607433217607, -18.912698610105636]),
    ("binom", (-3.05, -1.05), 1, [0.4645760743321759, -17.57454685128573]),
    ("binom", (-2.3, -2.000000001), 1, [-2.5641025725272226, 8.42465581859566]),
    ("binom", (-1.599999999999, -0.6), 0, [-1.6666666666656085, 1.058340710013844]),
    ("binom", (0.7000000000009999, 1.7), 1, [-0.5882352941189175, 1.616469216343537]),
    ("binom", (-1.700000001, 0.3), 0, [4.761904785683211, -23.77844910037702]),
    ("beta", (0.3, -0.299999999999), 0, [-12.944073591500072, 75.73081848705212]),
    ("beta", (2.3, -2.2999999999989997), 1, [-1.6883574249918194, -13.150747075690457]),
    ("beta", (-0.6, -1.400000001), 1, [-19.6622975847226, -29.52813673874232]),
    ("beta", (-1.4, 0.4000000000009999), 1, [-5.898689284240019, 35.20536998587479]),
    ("gammaln", (-1e6 - 0.5,), 0, [13.815511557963816, 9.8696034010903586]),
    ("beta", (1.0, np.inf), 0, [0.0, 0.0]),  # gamma(a) b**-a times powers of log(b)
    ("beta", (np.inf, 0.5), 1, [0.0, 0.0]),
    ("zeta", (2.0, np.inf), 0, [0.0, 0.0]),  # q**(1 - s) times powers of log(q)
    ("betaincinv", (1.0, 2.0, 1.0), 0, [0.0]),
    ("betainccinv", (1.0, 2.0, 0.0), 1, [0.0]),
    ("eval_legendre", (0, -1.0), 1, [0.0, 0.0]),
    ("eval_legendre", (1, -1.0), 1, [1.0, 0.0]),
    ("eval_chebyt", (0, -2.0), 1, [0.0, 0.0]),
    ("eval_chebyu", (0, -2.0), 1, [0.0, 0.0]),
    ("eval_chebyu", (2, -2.0), 1, [-16.0, 8.0, 0.0]),
    ("eval_chebyt", (-3, 0.3), 1, [-1.92, 7.2, 24.0]),  # the polynomials of degree 3, 2 and 2
    ("eval_chebyt", (-2.0, 0.3), 1, [1.2, 4.0, 0.0]),
    ("eval_chebyu", (-4, 0.3), 1, [-2.4, -8.0, 0.0]),
    ("eval_chebyu", (-1.0, 0.3), 1, [0.0, 0.0]),
    ("eval_chebyc", (-4, 0.3), 1, [-2.292, -6.92]),
    ("eval_chebys", (-4, 0.3), 1, [-0.6, -2.0]),
    ("eval_legendre", (-4, 0.3), 1, [-0.825, 4.5, 15.0]),
    ("eval_legendre", (-2.0, 0.3), 1, [1.0, 0.0]),
    ("eval_sh_legendre", (-3, 0.3), 1, [-2.4, 12.0, 0.0]),
    ("eval_sh_chebyu", (-4, 0.3), 1, [6.4, -32.0]),
    ("gammaincinv", (2.0, 1.0), 0, [0.0, 0.0]),
    ("stdtr", (3.0, 0.0), 0, [0.0, 0.0]),
    ("stdtr", (4.0, 0.0), 1, [0.375, 0.0, -0.46875]),
    ("kolmogorov", (1e-300,), 0, [0.0, 0.0]),
    ("stdtr", (2.0, -1e+100), 0, [-1.1480254144484226e-198, 2.6359408277906164e-196]),
    ("stdtr", (2.0, -1e+100), 1, [1e-300, 0.0]),
    ("stdtr", (0.5, -1000.0), 0, [-0.07285147196746328, 0.5368813143790723]),
    ("stdtr", (30.0, -40.0), 0, [-1.0451387728781778e-27, 1.6029844305648669e-27]),
    ("stdtr", (100.0, -1.5), 0, [-1.5721323230354782e-05, 3.1378194040239263e-07]),
    ("stdtr", (4.0, -1e-10), 0, [-5.694807290020509e-13, 2.6862969191029545e-13]),
    ("stdtr", (1e8, -3.0), 0, [-3.3238867443826091e-18, 6.6477739241943199e-26]),
    ("stdtr", (1e5, 1.3), 0, [1.4981820433726707e-11, -2.9963562141203851e-16]),
    ("stdtr", (0.05, 1.01), 0, [0.75574670386022211, -5.8634725086279053]),
    ("stdtr", (1e12, 1.3), 0, [1.4981899159771686e-25, -2.9963798319535499e-37]),
    ("stdtrit", (1.0, 1e-300), 0, [2.1945482016709165e302]),
    ("fdtr", (4.0, 1e6, 1.3), 1, [8.0333957563841e-13]),
    ("fdtr", (1e-6, 3.0, 2.0), 0, [-6.30359330363043901]),
    ("fdtr", (1e-4, 20.0, 1.1), 0, [-4.13906922901518666]),
    ("fdtr", (1e5, 7.0, 0.8), 0, [-1.2438692997655720e-10]),
    ("fdtr", (2.0, 4.0, 1e-200), 0, [-2.2985508288968453e-198, 5.283354663022375e-196]),
    ("fdtr", (5.0, 3.0, 1e-30), 2, [1.8263835379599997e-44, 2.7395753069399994e-14]),
    ("fdtrc", (2.0, 4.0, 1e+90), 0, [-1e-180, 1e-180]),
    ("fdtrc", (2.0, 4.0, 1e+90), 1, [-4.110790223778084e-178, 4.224699065977366e-176]),
    ("fdtrc", (2.0, 4.0, 1e+90), 2, [-8e-270, 0.0]),
    ("agm", (1e+160, 1.0), 0, [0.004236206107902778, -1.1424339326309672e-165]),
    ("agm", (1e+160, 1.0), 1, [1.1486461904588232e+155, -1.1424339326309673e+155]),
    ("agm", (1e+19, 1.0), 0, [0.034030807007370195, -7.3688821446699972e-23]),
    ("agm", (1.0, 1e+99), 1, [0.0068192729595833489, -2.9603832801003924e-104]),
    ("elliprf", (1.0, 2.0, 1e+50), 2, [-2.8534774049475742e-74, 4.2552161074213609e-124]),
    ("elliprd", (1.0, 1e+60, 1e-05), 0, [-4.7135581951100178e-28, 7.05547869988075e-28]),
    ("elliprc", (1.27, -0.174), 0, [-0.18825299057239963, 0.074586570378864948]),
    ("elliprc", (1.27, -0.174), 1, [2.738128017630198, 15.732928554800227]),
    ("elliprj", (1.0, 2.0, 3.0, -0.5), 0, [0.11729740208224185, -0.26837724520808725]),
    ("elliprj", (1.0, 2.0, 3.0, -0.5), 3, [1.0619655298253355, 3.072548701059419]),
    ("elliprj", (3.0, 1.0, 0.2, -4.0), 2, [0.33869769291472565, -1.1284599254717763]),
    ("zeta", (np.inf, 2.0), 0, [0.0, 0.0]),
    ("zetac", (np.inf,), 0, [0.0]),
    ("inv_boxcox", (-np.inf, 0.0), 0, [0.0]),  # of exp(x)
    ("inv_boxcox", (-np.inf, 0.0), 1, [0.0]),  # -x**2 exp(x) / 2
    ("inv_boxcox", (-np.inf, -1.0), 1, [0.0]),
    ("inv_boxcox1p", (np.inf, 0.0), 1, [-np.inf]),
    ("poch", (0.2, 1e-9), 0, [2.6267376940755556e-8, -2.5147803221776098e-7]),
    ("poch", (0.4999, -1e-6), 0, [-4.9365036819837415e-6, 1.6838647595404678e-5]),
    ("spence", (1.000000001,), 0, [-0.99999999949999996, 0.49999999933333328, -0.66666666516666654]),
    ("spence", (0.7,), 0, [-1.1889164797957746, 0.79884982925217998, -1.4770555600875082]),
    ("spence", (1e-20,), 0, [-46.051701859880914, 1.0000000000000001e20, -1.0000000000000001e40]),
    ("rgamma", (1e-200,), 0, [1.0, 1.1544313298030657, -3.9352684291215233]),
    ("rgamma", (1.4616,), 0, [3.512436654599261e-5, -1.092702370679008, 0.99986754487931381]),
    ("rgamma", (-7.5,), 0, [-9292.3701320687776, -24203.728911728163, 231519.43574638663]),
    ("kolmogorov", (0.11,), 0, [-2.2055306895422094e-40, -4.008202954460288e-37, -7.17349445134947e-34]),
    ("kolmogorov", (0.8,), 0, [-1.6270243456365923, 1.7186654684559675, 20.441429232893174]),
    ("kolmogorov", (3.0,), 0, [-3.6551951387310307e-07, 4.264394328519536e-06, -4.824857583124961e-05]),
    ("hyp1f1", (0.7, 1.5, -20.0), 0, [-0.36854294297107647, 1.2359471247447935]),
    ("hyp1f1", (0.7, 1.5, -20.0), 1, [0.090835312478643886, -0.04072417237809397]),
    ("hyp1f1", (-1.3, 2.5, 100.0), 0, [4.8968971275043339e35, -3.4740131748031204e36]),
    ("hyp1f1", (-1.3, 2.5, -30.0), 2, [-1.0493131923140634, 0.0095790332856312245, 0.00020345524581423199]),
    ("hyp0f1", (0.3, -50.0), 1, [0.33569989232509381, 0.018080630854601694, -0.0062439014442822322]),
    ("hyp0f1", (2.5, 1e-9), 1, [0.40000000011428571, 0.11428571431111111, 0.025396825401443001]),
    ("hyperu", (-1.5, 0.7, 3.0), 2, [2.0706775651894365, 0.52327715631493088, -0.11835949312843602]),
    ("struve", (1.5, 40.0), 1, [0.11900569646458861, 0.089191797382714332, -0.089625772525422305]),
    ("struve", (0.0, 0.0), 1, [2 / math.pi, 0.0, -4 / (3 * math.pi)]),
    ("struve", (0.0, 1e-10), 1, [2 / math.pi, -4e-10 / (3 * math.pi)]),
    ("modstruve", (0.0, 0.0), 1, [2 / math.pi, 0.0, 4 / (3 * math.pi)]),
    ("struve", (1.0, 0.0), 1, [0.0, 4 / (3 * math.pi)]),
    ("modstruve", (-0.3, 0.01), 1, [2.1083022094532124, -63.226478183968594, 8223.282212343145]),
    ("lpmv", (1.0, 2.5, 0.3), 2, [-4.2955303804735423, -1.7456777587524894, 24.270351744162619]),
    ("lpmv", (-2.0, 3.0, -0.6), 2, [-0.01, 0.45, -0.75]),  # (x - x**3) / 8
    ("lpmv", (-2.0, 3.0, 1.0), 2, [-0.25, -0.75, -0.75]),
    ("lpmv", (0.0, 3.0, -1.0), 2, [6.0, -15.0, 15.0]),  # (5 x**3 - 3 x) / 2
    ("lpmv", (1.0, 1.0, -1.0), 2, [-math.inf, math.inf]),  # -sqrt(1 - x**2)
    ("chndtr", (40.0, 2.5, 3.0), 0, [2.2117377024969041e-6, -8.101878934853073e-7, 2.9317953182483927e-7]),
    ("chndtr", (2.0, 2.5, 1.0), 2, [-0.12210117824861509, 0.035597823677201355, -0.0088543959833662025]),
    ("chndtr", (0.0, 4.0, 2.0), 0, [0.0, 0.25 / math.e]),
]


@pytest.mark.parametrize(("name", "xs", "k", "known"), KNOWN, ids=[f"{n}{x}-{k}" for n, x, k, _ in KNOWN])
def test_derivatives_in_the_tails_and_in_parameters(
    name: str, xs: tuple[float, ...], k: int, known: list[float]
) -> None:
    np.testing.assert_allclose(slopes(getattr(ng, name), xs, k, len(known)), known, rtol=2e-10, atol=1e-300)


def test_mixed_derivatives_in_parameters() -> None:
    a, b = ng.DimArray(2.5, ()), ng.DimArray(3.0, ())

    def f(a: ng.DimArray, b: ng.DimArray) -> ng.DimArray:
        return ng.betainc(a, b, 0.25)

    there = ng.grad(lambda a: ng.grad(lambda b: f(a, b))(b))(a).item()
    back = ng.grad(lambda b: ng.grad(lambda a: f(a, b))(a))(b).item()
    h = 1e-3
    first = lambda b: ng.grad(lambda a: f(a, b))(a).item()
    np.testing.assert_allclose(there, back, rtol=1e-12)
    np.testing.assert_allclose(back, (first(b + h) - first(b - h)) / (2 * h), rtol=1e-5)


@pytest.mark.parametrize(("name", "pair"), [("gammaincinv", "gammainc"), ("gammainccinv", "gammaincc")])
def test_an_inverse_has_the_inverse_slope(name: str, pair: str) -> None:
    x = ng.DimArray(np.array([0.2, 1.0, 7.0]), "x")
    a = ng.DimArray(np.array([0.5, 2.0, 6.0]), "x")
    back = lambda a: getattr(ng, name)(a, getattr(ng, pair)(a, x))
    np.testing.assert_allclose(back(a).data, x.data, rtol=1e-10)
    np.testing.assert_allclose(ng.grad(lambda a: back(a).sum())(a).data, 0, atol=1e-10)


def in_the_order_at_half(name: str, x: float) -> float:
    """DLMF 10.15.6 to 10.15.8, and 10.38.6."""
    si, ci = scipy.special.sici(2 * x)
    if name == "iv":
        return -(scipy.special.exp1(2 * x) * math.exp(x) + scipy.special.expi(2 * x) * math.exp(-x)) / math.sqrt(2 * math.pi * x)
    waves = ci * math.sin(x) - si * math.cos(x) if name == "jv" else ci * math.cos(x) + (si - math.pi) * math.sin(x)
    return math.sqrt(2 / (math.pi * x)) * waves


@pytest.mark.parametrize("name", ["jv", "yv", "iv"])
@pytest.mark.parametrize("x", [0.01, 1.5, 20.0, 300.0])
def test_derivatives_at_half_orders(name: str, x: float) -> None:
    f, half = getattr(ng, name), ng.DimArray(0.5, ())
    np.testing.assert_allclose(ng.grad(lambda v: f(v, x))(half).item(), in_the_order_at_half(name, x), rtol=2e-12 if x == 300 else 1e-12)  # which are rounded as radians
    want = getattr(scipy.special, {"jv": "jvp", "yv": "yvp", "iv": "ivp"}[name])(0.5, x)
    np.testing.assert_allclose(ng.grad(lambda x: f(half, x))(ng.DimArray(x, ())).item(), want, rtol=1e-12)


REFUSED: dict[str, Any] = {
    "order n": lambda n: ng.polygamma(n, 1.5), "parameter v": lambda v: ng.hyp0f1(v, 1.0), "parameter a": lambda a: ng.hyperu(a, 1.0, 1.0),
    "parameter b": lambda b: ng.hyperu(1.0, b, 1.0), "the order": lambda v: ng.struve(v, 1.0), "parameter m": lambda m: ng.lpmv(m, 3.0, 0.5),
    "df": lambda df: ng.chndtr(1.0, df, 2.0),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_an_order_without_derivative_is_refused(what: str) -> None:
    with pytest.raises(ng.TraceError, match=rf"{what}.*stop_gradient"):
        ng.grad(REFUSED[what])(ng.DimArray(2.0, ()))


# results, operands, which operand, derivatives
SEVERAL: list[tuple[Any, tuple[float, ...], int, list[float]]] = [
    (lambda *x: ng.ellipj(*x)[0], (2.0, 0.9), 0, [0.069551977330307816, -0.16253056903522327, 0.22974940964033589]),
    (lambda *x: ng.ellipj(*x)[1], (2.0, 0.9), 1, [0.75140422923768711, -0.014912684711983629, -0.77733533289513604]),
    (lambda *x: ng.ellipj(*x)[2], (2.0, 0.9), 1, [-0.96791553833922026, -0.39637195432847808, 1.0168402503492369]),
    (lambda x: ng.airye(x)[0], (25.0,), 0, [-0.0012542932838131892, 6.2283365028804318e-5]),
    (lambda x: ng.airye(x)[2], (25.0,), 0, [-0.0025380294128937613, 0.00012780619948223306]),
    (lambda v: ng.real(ng.hankel1(v, 20j)), (0.5,), 0, [-4.1479707861514554e-10, 6.088140219579709e-10]),  # J + i Y cancels
    (lambda v: ng.real(ng.hankel1e(v, 20j)), (0.5,), 0, [-0.20124510570172722, 0.2953753739314593]),
    (lambda v: ng.real(ng.hankel2(v, 10 - 10j)), (3.3,), 0, [-1.363714798940571e-5, 1.4099680408767237e-5]),
]


@pytest.mark.parametrize("number", range(len(SEVERAL)))
def test_functions_of_several_results_and_of_complex_numbers(number: int) -> None:
    f, xs, k, known = SEVERAL[number]
    np.testing.assert_allclose(slopes(f, xs, k, len(known)), known, rtol=1e-9)


@pytest.mark.parametrize(("a", "x"), [(0.5, 1500.0), (0.5, -np.inf), (0.5, np.nan), (1e7, 1.0)])
def test_a_derivative_in_a_parameter_is_none_where_its_series_is_too_short(a: float, x: float) -> None:
    assert not np.isfinite(ng.grad(lambda a: ng.hyp1f1(a, 1.5, x))(np.float64(a)))


def test_where_scipys_confluent_functions_have_no_value() -> None:
    x = ng.DimArray(np.array([-np.inf, 1e6, np.inf]), "x")
    np.testing.assert_array_equal(ng.hyp1f1(2.0, 3.0, x).data, [0, np.inf, np.inf])
    np.testing.assert_allclose([ng.hyp0f1(300.0, np.float64(2e5)), ng.hyp0f1(1.0, np.float64(1.1e5))], [3.5830072780728098e184, 1.8556574002898267e286], rtol=1e-12)
    np.testing.assert_array_equal(ng.hyp0f1(1.0, x).data[1:], [np.inf, np.inf])
    np.testing.assert_array_equal(ng.hyp0f1(-0.5, x).data[1:], [-np.inf, -np.inf])


def test_hyp0f1_far_away_where_its_operands_have_different_shapes() -> None:
    v = ng.DimArray([2.0, 3.0, 4.0], "x")
    np.testing.assert_allclose(ng.hyp0f1(v, 1.1e5).data, scipy.special.hyp0f1([2.0, 3.0, 4.0], 1.1e5), rtol=1e-12)
    z = ng.DimArray([2.0, 1.1e5], "y")
    np.testing.assert_allclose(ng.hyp0f1(v, z).data, scipy.special.hyp0f1([[2.0], [3.0], [4.0]], [2.0, 1.1e5]), rtol=1e-12)
    slope = ng.grad(lambda z: ng.hyp0f1(v, z).sum())(np.float64(1.1e5))
    np.testing.assert_allclose(slope, sum(scipy.special.hyp0f1(v + 1, 1.1e5) / v for v in (2.0, 3.0, 4.0)), rtol=1e-12)


def test_polynomials_of_kummer_at_large_numbers() -> None:
    x = ng.DimArray([1e11, 1e300, np.inf, -np.inf], "x")
    np.testing.assert_array_equal(ng.hyp1f1(-1.0, 1.0, x).data, [1 - 1e11, -1e300, -np.inf, np.inf])
    np.testing.assert_array_equal(ng.hyp1f1(-2.0, 1.0, x).data, [0.5e22 - 2e11, np.inf, np.inf, np.inf])
    np.testing.assert_array_equal(ng.hyp1f1(0.0, 1.0, x).data, [1, 1, 1, 1])
    np.testing.assert_allclose(ng.grad(lambda x: ng.hyp1f1(-2.0, 1.0, x))(np.float64(1e11)), 1e11 - 2, rtol=1e-15)


@pytest.mark.parametrize("k", [0, 1])
@pytest.mark.parametrize(("a", "b", "x"), [(60, 2, -30), (80, 1.5, -50), (-60, 2, 30), (-30, 2, 20), (30, 2, -20), (10, 2, -100), (-4.5, 2, 9), (6, 2, -8), (2, 1, -1)])
def test_derivatives_of_kummers_function_where_terms_cancel(k: int, a: float, b: float, x: float) -> None:
    mp = pytest.importorskip("mpmath")
    known = mp.diff(lambda t: mp.hyp1f1(*((t, b) if k == 0 else (a, t)), x), (a, b)[k])
    slope = ng.grad(lambda t: ng.hyp1f1(*((t, b) if k == 0 else (a, t)), x))(np.float64((a, b)[k]))
    if abs(a) < 12 or not np.isnan(slope):
        np.testing.assert_allclose(slope, float(known), rtol=1e-8)


@pytest.mark.parametrize("name", ["hankel1", "hankel2", "hankel1e", "hankel2e"])
@pytest.mark.parametrize("z", [-2 + 0j, complex(-2, -0.0), 2 + 0j, -3 - 0.5j, -3 + 0.5j])
def test_hankel_functions_in_their_order_next_to_the_cut(name: str, z: complex) -> None:
    f = getattr(scipy.special, name)
    slope = [ng.grad(lambda v, part=part: part(f(v, np.array([z]))).sum())(np.float64(0.7)) for part in (np.real, np.imag)]
    known = richardson(lambda h: f(0.7 + h, z))
    np.testing.assert_allclose(slope, [known.real, known.imag], rtol=1e-8)


PARAMETERS = {
    "gammainc": (scipy.special.gammainc, 0, (0.5, 3.0), (0.2, 4.0)),
    "betainc": (scipy.special.betainc, 1, (0.5, 3.0), (0.5, 3.0), (0.1, 0.9)),
    "zeta": (scipy.special.zeta, 0, (1.5, 4.0), (0.5, 3.0)),
    "kv": (scipy.special.kv, 0, (0.3, 3.0), (0.5, 3.0)),
    "stdtr": (scipy.special.stdtr, 0, (1.0, 9.0), (-3.0, 3.0)),
    "fdtr": (scipy.special.fdtr, 1, (1.0, 9.0), (1.0, 9.0), (0.2, 3.0)),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_derivatives_in_parameters_of_few_and_of_many_cells(name):
    """Of few cells the terms of a sum are computed at once, of many one after the other."""
    function, k, *limits = PARAMETERS[name]
    rng = np.random.default_rng(0)
    xs = [rng.uniform(*ends, 6000) for ends in limits]
    up, down = ([x + h * (i == k) for i, x in enumerate(xs)] for h in (1e-5, -1e-5))
    want = (function(*up) - function(*down)) / 2e-5
    for cells in (1, 40, 700, 6000):
        operands = [ng.DimArray(x[:cells], "cell") for x in xs]
        found = ng.grad(lambda *xs: getattr(ng, name)(*xs).sum(), k)(*operands)
        np.testing.assert_allclose(found.to_numpy(), want[:cells], rtol=1e-6, atol=1e-9)


def _voigt_by_mpmath(x: float, s: float, g: float) -> list[float]:
    """Voigt's profile and its slopes, with as many digits as cancel."""
    mpmath: Any = pytest.importorskip("mpmath")
    with mpmath.workdps(400):
        x, s, g = map(mpmath.mpf, (x, s, g))
        root, pi = mpmath.sqrt(2), mpmath.pi
        z = (x + 1j * g) / (s * root)
        w = mpmath.exp(-z * z) * mpmath.erfc(-1j * z)
        first = 2j / mpmath.sqrt(pi) - 2 * z * w
        second = -2 * w - 2 * z * first
        parts = [part / (s * root) ** n / (s * mpmath.sqrt(2 * pi)) for n, part in enumerate((w, first, second))]
        return [float(v) for v in (parts[0].real, parts[1].real, s * parts[2].real, -parts[1].imag)]


def test_voigt_profile_and_its_slopes_from_the_centre_to_the_wings(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them follow from one value of Faddeeva's function; far away, where that cancels, from its series."""
    radius, angle = np.meshgrid([1e-3, 0.5, 2.0, 6.9, 7.1, 12.0], [1e-3, 0.2, 0.9, 1.5])
    s = np.resize([0.3, 1.0, 4.0], radius.size)
    x, g = (math.sqrt(2) * s * (radius * turn(angle)).ravel() for turn in (np.cos, np.sin))
    made, wofz = [], scipy.special.wofz
    monkeypatch.setattr(scipy.special, "wofz", lambda z: made.append(np.size(z)) or wofz(z))
    value, back = ng.pullback(ng.voigt_profile, *(ng.DimArray(v, "cell") for v in (x, s, g)))
    slopes = back(ng.ones_like(value))
    assert sum(made) == x.size
    want = np.array([_voigt_by_mpmath(*point) for point in zip(x, s, g, strict=True)]).T
    np.testing.assert_allclose(value.to_numpy(), want[0], rtol=1e-13)
    for got, slope in zip(slopes, want[1:], strict=True):
        np.testing.assert_allclose(got.to_numpy(), slope, rtol=1e-10, atol=1e-14)
