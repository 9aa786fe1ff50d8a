import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Type } from 'typebox'
import { pluginConfigs, readAgentConfig } from '../../agent/config.ts'
import type { AgentPlugin } from '../../agent/plugin.ts'

t.test('every key has a default', async t => {
  const config = readAgentConfig({ file: null, env: { HOME: '/home/x' } })

  t.match(config, {
    state_dir: '/home/x/.local/state/sluice/agent',
    bind: ['0.0.0.0', '::'],
    log_level: 'info',
    log_format: 'auto',
    plugins: {}
  })
  t.throws(() =>
    config.guardrails.admit({ from: 1, to: 1, targets: [{ host: '169.254.169.254', port: 80 }] })
  )
})

t.test('the state directory: flag, environment, file, STATE_DIRECTORY, XDG, home', async t => {
  const dir = t.testdir({ 'agent.toml': 'state_dir = "/from/file"' })
  const file = join(dir, 'agent.toml')
  const xdg = { HOME: '/home/x', XDG_STATE_HOME: '/xdg' }
  const systemd = { ...xdg, STATE_DIRECTORY: '/var/lib/sluice:/other' }
  const all = { ...systemd, SVC_STATE_DIR: '/from/env' }

  t.equal(readAgentConfig({ file, env: all, stateDir: '/from/flag' }).state_dir, '/from/flag')
  t.equal(readAgentConfig({ file, env: all }).state_dir, '/from/env')
  t.equal(readAgentConfig({ file, env: systemd }).state_dir, '/from/file')
  t.equal(readAgentConfig({ file: null, env: systemd }).state_dir, '/var/lib/sluice')
  t.equal(readAgentConfig({ file: null, env: xdg }).state_dir, '/xdg/sluice/agent')
})

t.test('the environment can set lists', async t => {
  const env = { SVC_BIND: '127.0.0.1,::1', SVC_ALLOW_PORTS: '443,8000-8999', SVC_DENY_TARGETS: '10.0.0.0/8' }

  const { bind, guardrails } = readAgentConfig({ file: null, env })

  t.same(bind, ['127.0.0.1', '::1'])
  t.throws(() => guardrails.admit({ from: 80, to: 80, targets: [] }))
  t.doesNotThrow(() => guardrails.admit({ from: 8500, to: 8500, targets: [] }))
  t.same(guardrails.filter.deny, [{ cidr: '10.0.0.0/8' }])
})

t.test('an invalid local address is refused, not ignored', async t => {
  for (const address of ['nonsense', 'localhost', '300.1.1.1', '127.0.0.1:80'])
    t.throws(() => readAgentConfig({ file: null, env: { SVC_BIND: `127.0.0.1,${address}` } }), {
      errorCode: { code: 'startup.config_invalid' },
      message: 'SVC_BIND: bind.1 must be an IP address of this machine'
    })
})

t.test('a prefix whose length is not digits is refused with its key and the form of an entry', async t => {
  for (const bits of ['8.5', '1e1', '0x8', ' 8', '-0', ''])
    for (const key of ['allow_targets', 'deny_targets'])
      t.throws(
        () => readAgentConfig({ file: null, env: { [`SVC_${key.toUpperCase()}`]: `10.0.0.0/${bits}` } }),
        {
          errorCode: { code: 'startup.config_invalid' },
          message: new RegExp(`^SVC_${key.toUpperCase()}: ${key}: .* is invalid; write an address, a prefix`)
        }
      )
})

t.test('addresses of bind that no port can have at the same time are refused', async t => {
  for (const bind of [
    '127.0.0.1,127.0.0.1',
    '::1,0:0::1',
    '127.0.0.1,::ffff:127.0.0.1',
    '127.0.0.1,0.0.0.0',
    '::,::1'
  ])
    t.throws(
      () => readAgentConfig({ file: null, env: { SVC_BIND: bind } }),
      { message: /^SVC_BIND: bind has .* and .*, which overlap; remove one of them$/ },
      bind
    )
  for (const bind of ['0.0.0.0,::', '127.0.0.1,::', 'fe80::1%a,fe80::1%b', '127.0.0.1,127.0.0.2'])
    t.same(readAgentConfig({ file: null, env: { SVC_BIND: bind } }).bind, bind.split(','))
})

t.test('variables with the prefix SVC_AGENT_ apply only to the agent, and take precedence', async t => {
  const env = {
    SVC_METRICS_LISTEN: '127.0.0.1:1',
    SVC_AGENT_METRICS_LISTEN: '127.0.0.1:2',
    SVC_LOG_LEVEL: 'warn'
  }

  t.match(readAgentConfig({ file: null, env }), { metrics_listen: '127.0.0.1:2', log_level: 'warn' })
  t.equal(
    readAgentConfig({ file: null, env: { ...env, SVC_AGENT_METRICS_LISTEN: '' } }).metrics_listen,
    '127.0.0.1:1'
  )
})

t.test('an empty list of denied targets in the environment does not lift the guardrail', async t => {
  const { guardrails } = readAgentConfig({ file: null, env: { SVC_DENY_TARGETS: '' } })

  t.throws(() => guardrails.admit({ from: 1, to: 1, targets: [{ host: '169.254.169.254', port: 80 }] }))
})

t.test('all problems are reported together, a misspelled key with the nearest one', async t => {
  const dir = t.testdir({
    'agent.toml': 'statedir = "/x"\nbind = []\n[plugins.rules]\nenabled = "no"\n'
  })
  const problems = [/unknown key statedir; did you mean state_dir\?/, /bind/, /rules\.enabled/]

  for (const message of problems)
    t.throws(() => readAgentConfig({ file: join(dir, 'agent.toml'), env: {} }), {
      errorCode: { code: 'startup.config_invalid', exit: 78 },
      message
    })
})

t.test('idle_probe is on by default, and only true or false', async t => {
  const idleProbe = (value?: string): boolean =>
    readAgentConfig({ file: null, env: { SVC_IDLE_PROBE: value } }).idle_probe

  t.equal(idleProbe(), true)
  t.equal(idleProbe('false'), false)
  t.throws(() => idleProbe('never'), { message: /^SVC_IDLE_PROBE/ })
})

t.test('invalid guardrails stop the agent', async t => {
  t.throws(() => readAgentConfig({ file: null, env: { SVC_DENY_TARGETS: '10.0.0.0/99' } }), {
    errorCode: { exit: 78 },
    message: /deny_targets: 10\.0\.0\.0\/99/
  })
})

t.test(
  'the section of a plugin follows the schema of its agent half, and is refused without one',
  async t => {
    const Pace = Type.Object({ burst_secs: Type.Integer({ minimum: 1, default: 5 }), name: Type.String() })
    const plugins: AgentPlugin[] = [
      { name: 'pace', agent: '^1.0.0', config: Pace },
      { name: 'rules', agent: '^1.0.0' }
    ]
    const file = join(t.testdir({ 'agent.toml': '' }), 'agent.toml')
    const read = (text: string) => {
      writeFileSync(file, text)
      const { plugins: table, placeOf } = readAgentConfig({ file, env: {} })
      const specifiers = { pace: './pace', rules: 'rules' }
      return pluginConfigs({
        loaded: { plugins, sections: {}, specifiers, firstTrusted: [] },
        table,
        placeOf
      })
    }

    t.same(read('[plugins."./pace"]\nname = "x"\n'), { pace: { burst_secs: 5, name: 'x' }, rules: {} })
    t.throws(
      () =>
        read('[plugins."./pace"]\nenabled = true\nname = "x"\nburst_sec = 1\n[plugins.rules]\npace = 1\n'),
      {
        errorCode: { exit: 78 },
        message:
          /agent\.toml:4: unknown key plugins\."\.\/pace"\.burst_sec; did you mean burst_secs\?\n.*agent\.toml:6: unknown key plugins\.rules\.pace/
      }
    )
    const edited = 'development = true\n'
    t.same(read(`[plugins."./pace"]\nname = "x"\n${edited}`).pace, { burst_secs: 5, name: 'x' })
    t.throws(() => read(`[plugins."./pace"]\nname = "x"\n[plugins.rules]\n${edited}`), {
      message: /agent\.toml:4: unknown key plugins\.rules\.development/
    })
    t.throws(() => read(''), { message: /plugins\."\.\/pace"/ }, 'reports a missing required setting')
    const noHalf = '[plugins."./pace"]\nname = "x"\n[plugins."./server-only"]\nrate = 1\n'
    t.throws(() => read(noHalf), { message: /agent\.toml:4: unknown key plugins\."\.\/server-only"\.rate/ })
  }
)

t.test('a time for dead peers outside 0 to 86400 seconds is refused', async t => {
  const read = (secs: string) => readAgentConfig({ file: null, env: { SVC_TCP_DEAD_PEER_SECS: secs } })

  t.equal(readAgentConfig({ file: null, env: {} }).tcp_dead_peer_secs, 120)
  for (const secs of [0, 1, 86_400]) t.equal(read(String(secs)).tcp_dead_peer_secs, secs)
  for (const secs of ['-1', '86401', '1.5', 'never'])
    t.throws(() => read(secs), { errorCode: { exit: 78 }, message: /tcp_dead_peer_secs/ }, secs)
})
