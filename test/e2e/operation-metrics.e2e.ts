// The dashboard and the alerts use only metrics that real processes expose.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type Family, readExposition } from '../support/exposition.ts'
import { freePort } from '../support/ports.ts'
import { startAgent, testCluster } from '../support/test-cluster.ts'
import { get, startWebServer } from '../support/web.ts'

const config = join(import.meta.dirname, '..', '..', 'config/deploy')

async function scrape(port: unknown): Promise<Map<string, Family>> {
  const reply = await fetch(`http://127.0.0.1:${port}/metrics`)
  return readExposition(await reply.text())
}

/** Returns every metric in a PromQL text, with the labels that select it. */
const named = (text: string): { name: string; labels: string[] }[] =>
  [...text.matchAll(/\b((?:svc|process|nodejs)_[a-z0-9_]+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', asked = '']) => ({
      name: name.replace(/_(bucket|sum|count)$/, ''),
      labels: [...asked.matchAll(/(\w+)\s*[=!]~?/g)].map(([, label = '']) => label)
    })
  )

t.test('a server and an agent expose every metric that the dashboard and the alerts use', async t => {
  const cluster = await testCluster(t)
  const { agent, clientId } = await startAgent(t, cluster, 'berlin', {
    env: { SVC_METRICS_LISTEN: '127.0.0.1:0' }
  })
  const listen = await freePort()
  const { rule_id: rule } = await cluster.json<{ rule_id: string }>(
    'rule',
    'push',
    'berlin',
    String(listen),
    `127.0.0.1:${await startWebServer(t)}`
  )
  t.match(await get(`http://127.0.0.1:${listen}/`), /^hello/)

  const server = await scrape((await cluster.server.until('metrics.listening'))['port'])
  const agents = await scrape((await agent.until('metrics.listening'))['port'])

  t.equal(server.get('svc_clients_connected')?.series.get(`client="${clientId}"`), 1)
  t.equal(agents.get('svc_agent_connected')?.series.get(''), 1)
  t.equal(agents.get('svc_agent_rule_connections_total')?.series.get(`rule="${rule}"`), 1)
  t.ok(agents.has('process_cpu_seconds_total'))
  const all = new Map([...agents, ...server])
  for (const file of ['grafana-dashboard.json', 'alerts.yml']) {
    const asked = named(readFileSync(join(config, file), 'utf8').replaceAll('\\"', '"'))
    t.ok(asked.length > 10, `${file} names metrics`)
    for (const { name, labels } of asked) {
      const family = all.get(name)
      t.ok(family, `${file}: ${name}`)
      const key = family?.series.keys().next().value
      const known = ['job', 'instance', ...[...(key ?? '').matchAll(/(\w+)="/g)].map(([, label]) => label)]
      if (key !== undefined)
        t.same(
          labels.filter(label => !known.includes(label)),
          [],
          `${file}: labels of ${name}`
        )
    }
  }
})

t.test('every alert has an expression, a severity and a summary', async t => {
  const alerts = readFileSync(join(config, 'alerts.yml'), 'utf8').split('- alert: ').slice(1)

  t.ok(alerts.length > 5)
  for (const alert of alerts)
    t.match(
      alert,
      /^Sluice\w+\n +expr: .+\n( +for: \d+m\n)? +labels: \{ severity: \w+ \}\n +annotations:\n +summary: .+/
    )
})

t.test('Grafana can load the dashboard', async t => {
  const { panels, templating } = JSON.parse(readFileSync(join(config, 'grafana-dashboard.json'), 'utf8'))

  t.equal(new Set(panels.map(({ id }: { id: number }) => id)).size, panels.length)
  t.same(
    templating.list.map(({ name }: { name: string }) => name),
    ['datasource', 'client']
  )
})
