import t from 'tap'
import { encodeLimits, parseLimits } from '../limits.ts'

t.test('bits are converted to bytes, and a missing burst is derived from its rate', async t => {
  for (const [given, encoded] of [
    [{ bandwidth_in_bps: 8_000_000 }, { bytes_in: { per_sec: 1_000_000, burst: 100_000 } }],
    [{ bandwidth_out_bps: 80_000 }, { bytes_out: { per_sec: 10_000, burst: 16_384 } }],
    [{ bandwidth_out_bps: 1 }, { bytes_out: { per_sec: 0.125, burst: 16_384 } }],
    [{ bandwidth_in_bps: 8000, bandwidth_in_burst_bytes: 1 }, { bytes_in: { per_sec: 1000, burst: 1 } }],
    [{ concurrent_connections: 3 }, { connections: 3 }],
    [{ new_connections_per_sec: 5 }, { new_connections: { per_sec: 5, burst: 5 } }],
    [
      { new_connections_per_sec: 5, new_connections_burst: 50 },
      { new_connections: { per_sec: 5, burst: 50 } }
    ],
    [{}, {}]
  ] as const)
    t.same(encodeLimits(given), encoded, JSON.stringify(given))
})

t.test('an empty object means no limits, and a burst needs its rate', async t => {
  t.equal(parseLimits({}, ''), null)
  t.same(Object.keys(parseLimits({ concurrent_connections: 1, bandwidth_in_bps: 2 }, '') ?? {}), [
    'bandwidth_in_bps',
    'concurrent_connections'
  ])
  for (const burst of ['bandwidth_in_burst_bytes', 'bandwidth_out_burst_bytes', 'new_connections_burst'])
    t.throws(() => parseLimits({ [burst]: 1, concurrent_connections: 1 }, '/rate_limit'), {
      message: new RegExp(`^/rate_limit/${burst} needs `)
    })
})
