// Measures the cost of `proxy_out` by alternating between two rules of one agent, with and without it. Prints the median
// of the ratios and its 95 % confidence interval.
//   node test/bench/engine/proxy-protocol.ts [--rounds 9] [--secs 1] [--connections 0]
// `--connections` also opens this number of connections through the rule with `proxy_out`, and through a rule to a second
// agent's rule with `proxy_in`, and counts failures.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startAgent, type TestFolder, testCluster } from '../../support/test-cluster.ts'
import { run, serverPort } from './forwarders.ts'
import { intervalOfMedian, type Metrics, summary } from './result-tables.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    secs: { type: 'string', default: '1' },
    connections: { type: 'string', default: '0' }
  }
})
const loadTool = join(import.meta.dirname, 'load', 'build', 'load')
const ports = { without: 19_200, with: 19_201, in: 19_202, both: 19_203 }

const releases: (() => unknown)[] = []
const folder: TestFolder = {
  teardown: release => void releases.unshift(release as () => unknown),
  testdir: () => mkdtempSync(join(tmpdir(), 'sluice-bench-'))
}

function measure(load: string, port: number, pid: number, secs = values.secs): Metrics {
  const args = [...load.split(' '), '--to', `127.0.0.1:${port}`, '--server', `127.0.0.1:${serverPort}`]
  const { status, stdout, stderr } = spawnSync(loadTool, [...args, '--pid', String(pid), '--secs', secs], {
    encoding: 'utf8'
  })
  if (status !== 0) throw new Error(`load ${args.join(' ')}: ${stderr}`)
  return JSON.parse(stdout) as Metrics
}

const metrics = [
  { load: 'connect --conc 64', metric: 'cpu_us_each', title: 'CPU of a connection' },
  { load: 'bulk --dir in --streams 8', metric: 'gib_per_s', title: 'bulk in, GiB/s' },
  { load: 'bulk --dir in --streams 8', metric: 'cpu_s_per_gib', title: 'bulk in, CPU per GiB' }
]

function compare(pid: number): void {
  for (const { load, metric, title } of metrics) {
    const ratios: number[] = []
    for (let round = 0; round < Number(values.rounds); round++) {
      const order = round % 2 === 0 ? (['without', 'with'] as const) : (['with', 'without'] as const)
      const found = Object.fromEntries(order.map(which => [which, measure(load, ports[which], pid)]))
      ratios.push((found['with']?.[metric] ?? Number.NaN) / (found['without']?.[metric] ?? Number.NaN))
    }
    const [low, high] = intervalOfMedian(ratios, 0.05).map(ratio => ratio?.toFixed(3))
    console.log(
      `${title}: ${summary(ratios)?.median.toFixed(3)} times the value without proxy_out (${low} to ${high})`
    )
  }
}

function open(which: 'with' | 'both', pid: number): void {
  let total = 0
  let failed = 0
  while (total + failed < Number(values.connections)) {
    const { per_s = 0, failed: lost = 0 } = measure('connect --conc 256', ports[which], pid, '10')
    total += Math.floor(per_s * 10)
    failed += lost
  }
  if (total > 0) console.log(`${total} connections (${which}), ${failed} failed`)
}

try {
  spawnSync('make', ['-C', join(import.meta.dirname, 'load'), '-s'], { stdio: 'inherit' })
  await run(folder, loadTool, ['server', '--port', String(serverPort)], serverPort)
  const cluster = await testCluster(folder)
  const env = { SVC_ENGINE: 'native', SVC_THREADS: '1', SVC_LOG_LEVEL: 'info' }
  const { agent } = await startAgent(folder, cluster, 'edge', { env })
  await startAgent(folder, cluster, 'behind', { env })
  const push = (client: string, listen_port: number, port: number, fields: object) =>
    cluster.call('POST', '/v1/rules', {
      client,
      listen_port,
      targets: [{ host: '127.0.0.1', port }],
      ...fields
    })
  await push('edge', ports.without, serverPort, {})
  await push('edge', ports.with, serverPort, { proxy_out: 2 })
  await push('behind', ports.in, serverPort, { proxy_in: ['127.0.0.1'] })
  await push('edge', ports.both, ports.in, { proxy_out: 2 })
  compare(agent.pid)
  open('with', agent.pid)
  open('both', agent.pid)
  folder.teardown(() => rmSync(cluster.dir, { recursive: true }))
} finally {
  for (const release of releases) await release()
}
