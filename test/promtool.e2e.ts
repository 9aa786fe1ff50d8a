// Prometheus' own checks of the metrics of real processes, and of the alerts. They run where promtool is installed.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort } from './support/ports.ts'
import { startAgent, testCluster } from './support/test-cluster.ts'
import { get, startWebServer } from './support/web.ts'

const promtool = (args: readonly string[], input = '') =>
  spawnSync('promtool', [...args], { input, encoding: 'utf8' })
const skip = promtool(['--version']).error ? 'promtool is not installed (Debian: prometheus)' : false
const alerts = join(import.meta.dirname, '..', 'config/deploy/alerts.yml')

async function pageAt(port: unknown): Promise<string> {
  return (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
}

t.test('promtool finds no problem in the metrics of a server and an agent', { skip }, async t => {
  const cluster = await testCluster(t)
  const { agent } = await startAgent(t, cluster, 'berlin', { env: { SVC_METRICS_LISTEN: '127.0.0.1:0' } })
  const listen = await freePort()
  const target = `127.0.0.1:${await startWebServer(t)}`
  await cluster.json('rule', 'push', 'berlin', String(listen), target, '--health-interval', '1')
  t.match(await get(`http://127.0.0.1:${listen}/`), /^hello/)

  for (const { until } of [cluster.server, agent]) {
    const page = await pageAt((await until('metrics.listening'))['port'])
    const { status, stdout, stderr } = promtool(['check', 'metrics'], page)
    t.same({ status, stdout, stderr }, { status: 0, stdout: '', stderr: '' })
  }
})

t.test('promtool accepts the alerts', { skip }, async t => {
  const { status, stdout } = promtool(['check', 'rules', '--lint=all', '--lint-fatal', alerts])

  t.equal(status, 0, stdout)
})

/** Evaluates alerts like Prometheus. `expected`: the labels of each alert that fires at the given minute. */
function expectFired(t: Test, series: Readonly<Record<string, string>>, at: string, expected: object): void {
  const dir = t.testdir()
  mkdirSync(dir, { recursive: true })
  writeFileSync(join(dir, 'alerts.yml'), readFileSync(alerts))
  const file = join(dir, 'test.yml') // JSON is YAML
  writeFileSync(
    file,
    JSON.stringify({
      rule_files: ['alerts.yml'],
      tests: [
        {
          interval: '1m',
          input_series: Object.entries(series).map(([series, values]) => ({ series, values })),
          alert_rule_test: Object.entries(expected).map(([alertname, exp_alerts]) => ({
            eval_time: at,
            alertname,
            exp_alerts
          }))
        }
      ]
    })
  )
  const { status, stdout, stderr } = promtool(['test', 'rules', file])
  t.equal(status, 0, `${stdout}${stderr}`)
}

t.test('alerts of rules and targets name client, port and owner of the rule', { skip }, async t => {
  const rule = 'client="c", owner="ann", rule="r"'
  const named = { client: 'c', owner: 'ann', rule: 'r', client_name: 'paris', protocol: 'tcp', port: '443' }
  const series = {
    [`svc_rule_info{${rule}, client_name="paris", protocol="tcp", port="443"}`]: '1x60',
    [`svc_rule_state{${rule}, state="failed"}`]: '1x60',
    [`svc_rule_target_healthy{${rule}, target="10.0.0.7:80"}`]: '0x60',
    [`svc_rule_target_failed{${rule}, target="10.0.0.7:80", reason="dns_nxdomain", source="probe"}`]: '1x60'
  }

  expectFired(t, series, '20m', {
    SluiceRuleFailed: [
      {
        exp_labels: { ...named, state: 'failed', severity: 'warning' },
        exp_annotations: {
          summary: 'paris does not forward tcp 443 of ann (rule r); sluice rule show has the reason.'
        }
      }
    ],
    SluiceTargetFailed: [
      {
        exp_labels: { ...named, target: '10.0.0.7:80', severity: 'warning' },
        exp_annotations: {
          summary:
            'paris has not reached 10.0.0.7:80 for 10 minutes (dns_nxdomain); it is a target of tcp 443 (rule r).'
        }
      }
    ],
    SluiceTargetUnresolved: [
      {
        exp_labels: { client: 'c', owner: 'ann', rule: 'r', severity: 'warning' },
        exp_annotations: { summary: 'Target names of rule r do not resolve on c.' }
      }
    ],
    SluiceNoTarget: [
      {
        exp_labels: { ...named, severity: 'critical' },
        exp_annotations: { summary: 'paris reaches no target of tcp 443 (rule r).' }
      }
    ]
  })
})

t.test(
  'an alert fires three weeks before a certificate expires; a good target fires none',
  { skip },
  async t => {
    const series = {
      'svc_certificate_expiry_timestamp_seconds{certificate="api", instance="i"}': '1000000x200',
      'svc_rule_target_healthy{client="c", owner="ann", rule="r", target="10.0.0.7:80"}': '1x200'
    }

    expectFired(t, series, '120m', {
      SluiceCertificateExpires: [
        {
          exp_labels: { certificate: 'api', instance: 'i', severity: 'warning' },
          exp_annotations: { summary: 'The api certificate of i expires within three weeks.' }
        }
      ],
      SluiceTargetFailed: []
    })
  }
)
