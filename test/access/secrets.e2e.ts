// Real processes create every kind of secret. Each is found only in its allowed places.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort } from '../support/ports.ts'
import { start } from '../support/process.ts'
import { token as operatorToken, startAgent, type TestCluster, testCluster } from '../support/test-cluster.ts'
import { type ApiResponse, modesIn, openSecretSearch, type SecretSearch } from './secret-search.ts'

/** The allowed places of each secret. The search must find the secret in every one of them, which proves that it works. */
const allowed = {
  'setup token': ['output of server'],
  'operator token': ['environment of server'],
  'password of the first superadmin': [],
  'wrong password': [],
  'session cookie': ['response to POST /v1/auth/login'],
  'credential token': ['response to POST /v1/users/root/credentials'],
  'rotated token': ['response to POST /v1/users/root/credentials/:id/rotate'],
  'token of the command line': ['output of credential issue'],
  'initial password': [],
  'temporary password': ['output of user reset-password'],
  'new password': [],
  'temporary password, server stopped': ['output of reset-password'],
  'bootstrap bearer': ['output of bootstrap-superadmin'],
  'enrollment code': ['output of client enroll', 'arguments of agent enroll URI'],
  'enrollment code of the API': ['response to POST /v1/client-enrollments'],
  'enrollment code over standard input': ['output of client re-enroll'],
  'agent token': ['file edge/bundle.json'],
  'certificate key': ['file server/control.pem']
} as const satisfies Record<string, readonly string[]>
type Secret = keyof typeof allowed

interface Fixture {
  readonly t: Test
  readonly cluster: TestCluster
  readonly search: SecretSearch
  readonly secrets: Map<Secret, string>
  /** Records a secret and returns it. */
  add(name: Secret, value: unknown): string
  request(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<ApiResponse>
}

async function secretsFixture(t: Test): Promise<Fixture> {
  const cluster = await testCluster(t, { SVC_LOG_LEVEL: 'debug' })
  const search = openSecretSearch()
  search.watchProcess('server', cluster.server)
  const secrets = new Map<Secret, string>()
  return {
    t,
    cluster,
    search,
    secrets,
    add(name, value) {
      if (typeof value !== 'string' || value.length < 12) throw new Error(`no ${name}: ${value}`)
      secrets.set(name, value)
      return value
    },
    request: (method, path, body, headers) => search.request(method, cluster.origin + path, body, headers)
  }
}

/** Creates the first superadmin and signs in. Returns the headers of the session. */
async function signIn({ t, cluster, add, request }: Fixture): Promise<Record<string, string>> {
  add('operator token', operatorToken)
  const password = add('password of the first superadmin', 'the first password of root')
  const logged = cluster.server.events.find(({ event }) => event === 'onboarding.setup_token')
  const setup = add('setup token', logged?.msg.slice(-43))
  const root = { user_id: 'root', password }
  const first = { ...root, display_name: 'Root', password_confirm: password, setup_token: setup }
  t.equal((await request('POST', '/v1/auth/onboarding', first)).status, 201)
  const wrong = add('wrong password', 'a wrong password of root')
  t.equal((await request('POST', '/v1/auth/login', { ...root, password: wrong })).status, 401)
  t.equal((await request('POST', '/v1/auth/login', { user_id: wrong, password: wrong })).status, 401)
  const cookie = (await request('POST', '/v1/auth/login', root)).headers.get('set-cookie')
  const session = add('session cookie', /svc_session=([^;]+)/.exec(cookie ?? '')?.[1])
  return { cookie: `svc_session=${session}`, origin: cluster.origin, 'x-svc-csrf': '1' }
}

/** Issues and rotates a token. Returns the valid one. */
async function issueCredential(
  { t, add, request }: Fixture,
  session: Record<string, string>
): Promise<string> {
  const repeated = { ...session, 'idempotency-key': 'again' }
  const issued = await request('POST', '/v1/users/root/credentials', { label: 'x' }, repeated)
  const bearer = add('credential token', issued.body['token'])
  t.equal((await request('POST', '/v1/users/root/credentials', { label: 'x' }, repeated)).status, 409)
  const rotate = `/v1/users/root/credentials/${issued.body['credential_id']}/rotate`
  const rotated = add('rotated token', (await request('POST', rotate, undefined, session)).body['token'])
  const withOld = { authorization: `Bearer ${bearer}` }
  t.equal((await request('GET', '/v1/users/me', undefined, withOld)).status, 401)
  t.equal((await request('GET', `/v1/users/me?token=${rotated}`)).status, 401)
  return rotated
}

type Cli = (
  name: string,
  more: readonly string[],
  env?: object,
  input?: string
) => Promise<Record<string, unknown>>

const cliOf =
  ({ t, cluster, search }: Fixture, bearer: string): Cli =>
  async (name, more, env = {}, input = '') => {
    const args = [...name.split(' '), ...more, '--output', 'json']
    const variables = { SVC_SERVER: cluster.origin, SVC_TOKEN: bearer, ...env }
    const { code, stdout, stderr } = await search.run(name, args, variables, input)
    t.equal(code, 0, `${name}: ${stderr}`)
    return JSON.parse(stdout) as Record<string, unknown>
  }

async function setPasswords({ cluster, search, add }: Fixture, cli: Cli, bearer: string): Promise<void> {
  const initial = add('initial password', 'the initial password')
  await cli('user create', ['ada', '--initial-password'], { SVC_NEW_PASSWORD: initial })
  add('token of the command line', (await cli('credential issue', ['--user', 'ada']))['token'])
  add('temporary password', (await cli('user reset-password', ['ada']))['temporary_password'])
  const next = add('new password', 'the new password of ada')
  await search.run(
    'user reset-password --new-password',
    ['user', 'reset-password', 'ada', '--new-password'],
    { SVC_SERVER: cluster.origin, SVC_TOKEN: bearer },
    `${next}\n`
  )
}

/** Enrolls two agents, one of them twice. Returns their state directories. */
async function enrollAgents(
  { t, cluster, search, add, request }: Fixture,
  cli: Cli,
  session: Record<string, string>
): Promise<{ edge: string; lyon: string }> {
  const codeOf = (response: Readonly<Record<string, unknown>>) =>
    /code=([\w-]{43})/.exec(String(response['uri']))?.[1]
  const created = await request('POST', '/v1/client-enrollments', { name: 'unused' }, session)
  add('enrollment code of the API', codeOf(created.body))
  const invited = await cli('client enroll', ['lyon'])
  add('enrollment code', codeOf(invited))
  const lyon = join(cluster.dir, 'lyon')
  const enrolled = ['agent', 'enroll', String(invited['uri']), '--state-dir', lyon]
  t.equal((await search.run('agent enroll URI', enrolled)).code, 0)
  const { agent, clientId, stateDir } = await startAgent(t, cluster, 'edge')
  search.watchProcess('agent', agent)
  const again = await cli('client re-enroll', [clientId])
  add('enrollment code over standard input', codeOf(again))
  const piped = ['agent', 'enroll', '-', '--state-dir', stateDir]
  t.equal((await search.run('agent enroll -', piped, {}, `${again['uri']}\n`)).code, 0)
  add('agent token', JSON.parse(readFileSync(join(stateDir, 'bundle.json'), 'utf8')).token)
  return { edge: stateDir, lyon }
}

t.test('no secret appears outside its allowed places', { timeout: 240_000 }, async t => {
  const fixture = await secretsFixture(t)
  const { cluster, search, secrets, add } = fixture
  const session = await signIn(fixture)
  const bearer = await issueCredential(fixture, session)
  const cli = cliOf(fixture, bearer)
  await setPasswords(fixture, cli, bearer)
  const server = join(cluster.dir, 'server')
  const dirs = { server, ...(await enrollAgents(fixture, cli, session)) }
  const files = readdirSync(server).map(name => readFileSync(join(server, name), 'latin1'))
  add('certificate key', /BEGIN PRIVATE KEY-----\s+(\S+)/.exec(files.join())?.[1])
  search.scan(dirs)

  cluster.server.signal('SIGTERM')
  t.equal(await cluster.server.exit, 0)
  const reset = await cli('reset-password', ['ada', '--temporary', '--data-dir', server])
  add('temporary password, server stopped', reset['temporary_password'])
  const fresh = join(cluster.dir, 'fresh')
  add('bootstrap bearer', (await cli('bootstrap-superadmin', ['--data-dir', fresh]))['token'])
  search.scan({ ...dirs, fresh })

  for (const [name, wanted] of Object.entries(allowed)) {
    const value = secrets.get(name as Secret) ?? ''
    t.not(value, '', `there is a ${name}`)
    t.same([...search.placesOf(value)].sort(), [...wanted].sort(), name)
  }
  const setup = secrets.get('setup token') ?? ''
  t.equal(
    cluster.server.output().split(setup).length,
    3,
    'the setup token is logged once alone and once in the link'
  )
  for (const dir of [...Object.values(dirs), fresh])
    t.same([...new Set(modesIn(dir))].sort(), ['dir 700', 'file 600'], dir)
})

t.test(
  '`sluice up` passes its enrollment code where no other process can read it',
  { timeout: 240_000 },
  async t => {
    const dir = join(t.testdir(), 'data')
    const search = openSecretSearch()
    const up = start(t, ['up'], {
      SVC_DATA_DIR: dir,
      SVC_OPERATOR_HTTP_LISTEN: `127.0.0.1:${await freePort()}`,
      SVC_CONTROL_LISTEN: `127.0.0.1:${await freePort()}`,
      SVC_METRICS_LISTEN: '127.0.0.1:0',
      SVC_LOG_LEVEL: 'debug'
    })
    search.watchProcess('up', up)
    const scanning = setInterval(() => search.scan({}), 20) // the enrolling process is short-lived and logs nothing
    t.teardown(() => clearInterval(scanning))
    await up.until('client.connected')
    clearInterval(scanning)
    search.scan({ up: dir })
    up.signal('SIGTERM')
    await up.exit

    t.match(search.placesOf('enroll\0-'), ['arguments of up'], 'the enrollment was seen')
    t.same(search.placesOf('svc://'), [])
    t.same(search.placesOf(readFileSync(join(dir, 'operator-token'), 'utf8').trim()), [
      'file up/operator-token'
    ])
  }
)
