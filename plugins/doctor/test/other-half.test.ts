import t from 'tap'
import { thisHost } from '../host.ts'
import { sharedListens } from '../other-half.ts'

const hostWith = (files: Readonly<Record<string, string>>) => ({
  ...thisHost,
  read: (path: string) => files[path] ?? null
})

t.test(
  'a metrics port that server and agent on one host both want is found before the later start fails',
  async t => {
    const own = [{ key: 'metrics_listen', text: '127.0.0.1:7081' }]
    const unit = { '/etc/systemd/system/sluice-agent.service': '[Unit]' }
    const found = (files: Readonly<Record<string, string>>, env = {}) =>
      sharedListens({ role: 'server', host: hostWith(files) }, own, env).map(([, other]) => other)
    const shared = [{ key: 'metrics_listen', text: '127.0.0.1:7081' }]

    t.same(found({ '/etc/sluice/agent.toml': 'metrics_listen = "127.0.0.1:7081"' }), shared)
    t.same(found({ '/etc/sluice/agent.toml': 'metrics_listen = "[::]:7081"' }), [
      { key: 'metrics_listen', text: '[::]:7081' }
    ])
    t.same(found({ '/etc/sluice/agent.env': 'A=b\nSVC_METRICS_LISTEN=127.0.0.1:7081\n' }), shared)
    t.same(found(unit, { SVC_METRICS_LISTEN: '127.0.0.1:7081' }), shared, 'both read the variable')
    t.same(
      found(unit, { SVC_METRICS_LISTEN: '127.0.0.1:7081', SVC_AGENT_METRICS_LISTEN: '127.0.0.1:7082' }),
      []
    )
    t.same(found({}, { SVC_METRICS_LISTEN: '127.0.0.1:7081' }), [], 'there is no agent')
    t.same(found({ '/etc/sluice/agent.toml': 'not toml' }), [])
  }
)

t.test(
  'the metrics port of an agent is compared with all ports of a server on its host, also the default ones',
  async t => {
    const found = (text: string, toml = '') =>
      sharedListens(
        { role: 'agent', host: hostWith({ '/etc/sluice/server.toml': toml }) },
        [{ key: 'metrics_listen', text }],
        {}
      ).map(([, { key }]) => key)

    t.same(found('127.0.0.1:7081'), ['metrics_listen'])
    t.same(found('0.0.0.0:7080'), ['operator_http_listen'])
    t.same(found('127.0.0.1:7443'), ['control_listen'])
    t.same(found('127.0.0.1:7081', 'metrics_listen = "127.0.0.1:9000"'), [])
    t.same(found('127.0.0.1:7082'), [])
  }
)
