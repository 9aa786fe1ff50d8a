// Creates the first administrator from an empty host, with real processes.
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort } from '../../../test/support/ports.ts'
import { sluice, start } from '../../../test/support/process.ts'

const password = 'a long enough password'

async function newHost(t: Test) {
  const dir = t.testdir({})
  const env = {
    SVC_OPERATOR_HTTP_LISTEN: `127.0.0.1:${await freePort()}`,
    SVC_CONTROL_LISTEN: `127.0.0.1:${await freePort()}`,
    SVC_METRICS_LISTEN: '127.0.0.1:0',
    SVC_DATA_DIR: join(dir, 'data'),
    XDG_CONFIG_HOME: join(dir, 'profile')
  }
  const origin = `http://${env.SVC_OPERATOR_HTTP_LISTEN}`
  return { dir, env, origin, profile: join(dir, 'profile', 'sluice', 'credentials.json') }
}

t.test('without a running server, setup creates one with its configuration and signs in', async t => {
  const { dir, env, origin, profile } = await newHost(t)
  const config = join(dir, 'etc', 'server.toml')
  const { SVC_DATA_DIR: data, ...rest } = env
  const made = ['--data-dir', data, '--advertised-endpoint', 'sluice.example.com:7443', '--config', config]

  const { code, stdout, stderr } = await sluice(
    ['setup', 'root', ...made, '--output', 'json'],
    rest,
    `${password}\n`
  )

  t.equal(code, 0, stderr)
  t.equal(stderr, '', 'no log')
  const next = [
    `sluice server --config ${config}`,
    `SVC_SERVER=${origin} sluice client enroll paris`,
    `SVC_SERVER=${origin} sluice rule push paris 8080 127.0.0.1:80`
  ]
  t.match(JSON.parse(stdout), { server: origin, user_id: 'root', file: profile, data_dir: data, next })
  t.notMatch(stdout, new RegExp(`svct_|${password}`))
  t.equal(statSync(config).mode & 0o777, 0o644, 'a service with another user can read it')
  t.equal(statSync(data).mode & 0o777, 0o700)

  const server = start(t, ['server', '--config', config], rest)
  await server.until('server.started')
  t.equal(server.count('onboarding.setup_token'), 0)
  const enrolled = await sluice(['client', 'enroll', 'paris'], { ...rest, SVC_SERVER: origin })
  t.equal(enrolled.code, 0, enrolled.stderr)
  t.match(enrolled.stdout, 'svc://sluice.example.com:7443/')
})

t.test('on a running server setup needs the setup token; a second run explains how to sign in', async t => {
  const { env, origin, profile } = await newHost(t)
  const server = start(t, ['server'], env)
  await server.until('server.started')
  const token = server.events.find(({ event }) => event === 'onboarding.setup_token')?.msg.slice(-43) ?? ''
  const setup = (input: string, more = {}) =>
    sluice(['setup', 'root', '--display-name', 'Root'], { ...env, SVC_SERVER: origin, ...more }, input)

  t.match(await setup(`${password}\nwrong\n`), { code: 4, stderr: /^setup_token_invalid: .*restart/ })
  t.match(await setup(`${password}\n`), { code: 2, stderr: /Setup token/ }, 'no token')
  t.notOk(existsSync(profile))
  t.match(await setup('', { SVC_PASSWORD: password, SVC_SETUP_TOKEN: token }), { code: 0, stderr: '' })
  t.match(JSON.parse(readFileSync(profile, 'utf8')), { servers: { [origin]: { user_id: 'root' } } })
  t.match(await sluice(['user', 'show', 'root'], { ...env, SVC_SERVER: origin }), {
    code: 0,
    stdout: /display_name +Root/
  })
  t.match(await setup(''), { code: 2, stderr: /^already_bootstrapped: .*sluice login USER/ })
})

t.test('a refused setup changes nothing, and the error has a remedy', async t => {
  const { dir, env, origin, profile } = await newHost(t)
  const config = join(dir, 'server.toml')
  const setup = (args: string[], input: string, more = {}) =>
    sluice(['setup', ...args, '--config', config], { ...env, ...more }, input)

  t.match(await setup([], `${password}\n`), { code: 2, stderr: /sluice setup root/ })
  t.match(await setup(['root'], ''), { code: 2, stderr: /^usage: no answer to "Password/ })
  t.match(await setup(['root', '--server', origin], ''), { code: 69, stderr: /^server_unreachable/ })
  for (const endpoint of ['https://x/', 'a.example:7443, b.example:7443'])
    t.match(await setup(['root', '--advertised-endpoint', endpoint], `${password}\n`), {
      code: 78,
      stderr: /--advertised-endpoint: advertised_endpoint must be host:port .*without white space/
    })
  for (const path of [config, env.SVC_DATA_DIR, profile]) t.notOk(existsSync(path), path)

  t.match(await setup(['Not an id'], `${password}\n`), { code: 3, stderr: /^invalid_user_id/ })
  t.match(await setup(['root'], 'short\n'), { code: 3, stderr: /^password_too_short: .*at least 12/ })
  t.notOk(existsSync(config))
  t.match(await setup(['root'], `${password}\n`), { code: 0 }, 'a repeated setup succeeds')
})

t.test('a data directory with an administrator stays unchanged', async t => {
  const { env } = await newHost(t)
  mkdirSync(env.SVC_DATA_DIR, { mode: 0o700 })
  t.match(await sluice(['setup', 'root'], env, `${password}\n`), { code: 0 })

  t.match(await sluice(['setup', 'ann'], env, `${password}\n`), { code: 2, stderr: /^already_bootstrapped/ })
})

t.test('an existing configuration stays; the printed command has the missing keys', async t => {
  const { dir, env } = await newHost(t)
  const config = join(dir, 'server.toml')
  writeFileSync(config, '# mine\n')
  const args = ['--config', config, '--advertised-endpoint', 'a.example:7443', '--output', 'json']

  const { stdout } = await sluice(['setup', 'root', ...args], env, `${password}\n`)

  const [start] = JSON.parse(stdout).next
  t.equal(
    start,
    `sluice server --config ${config} --data-dir ${env.SVC_DATA_DIR} --advertised-endpoint a.example:7443`
  )
  t.equal(readFileSync(config, 'utf8'), '# mine\n')
})

t.test(
  'files that root creates in the directory of a service belong to the user of the service',
  { skip: process.getuid?.() !== 0 && 'only root can give a directory away' },
  async t => {
    const { env } = await newHost(t)
    mkdirSync(env.SVC_DATA_DIR, { mode: 0o700 })
    chownSync(env.SVC_DATA_DIR, 65_534, 65_534)

    t.match(await sluice(['setup', 'root'], env, `${password}\n`), { code: 0 })

    const files = readdirSync(env.SVC_DATA_DIR)
    t.ok(files.includes('sluice.db'))
    t.same([...new Set(files.map(name => statSync(join(env.SVC_DATA_DIR, name)).uid))], [65_534])
  }
)
