// The second factor at two servers of one PostgreSQL.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runAt } from '../../kernel/store/postgres/sessions.ts'
import { makeCertificate } from '../../plugins/certificate/make-certificate.ts'
import { codeAt, stepAt } from '../../plugins/second-factor/totp.ts'
import { start } from '../support/process.ts'
import { makeCluster } from './cluster.ts'

const password = 'correct horse battery staple'
const operator = 'operator-token-of-the-end-to-end-suite-0123456789'
const cluster = await makeCluster()
t.teardown(cluster.remove)
cluster.start()
await runAt(cluster.at('postgres'), ['create database factors'])

t.test('challenges, codes and limits hold at both servers', async t => {
  const dir = t.testdir()
  const { cert, key } = await makeCertificate([])
  writeFileSync(join(dir, 'cert.pem'), cert)
  writeFileSync(join(dir, 'key.pem'), key, { mode: 0o600 })
  const dataOf = (id: string): string => join(dir, id)
  async function server(id: string): Promise<string> {
    const child = start(t, ['server', '--data-dir', dataOf(id)], {
      SVC_TLS_CERT_PATH: join(dir, 'cert.pem'),
      SVC_TLS_KEY_PATH: join(dir, 'key.pem'),
      SVC_STORE_URL: cluster.at('factors').url,
      SVC_SERVER_ID: id,
      SVC_OPERATOR_TOKEN: operator,
      SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
      SVC_CONTROL_LISTEN: '127.0.0.1:0',
      SVC_METRICS_LISTEN: '127.0.0.1:0',
      SVC_TRUSTED_PROXIES: '127.0.0.1'
    })
    return String((await child.until('server.started'))['origin'])
  }
  const post = (url: string, body: object, headers: Record<string, string> = {}) =>
    fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body)
    })
  for (const id of ['a', 'b']) mkdirSync(dataOf(id), { mode: 0o700 })
  const a = await server('a')
  const bearer = { authorization: `Bearer ${operator}` }
  for (const [user_id, role] of [
    ['root', 'superadmin'],
    ['ann', 'user']
  ])
    await post(`${a}/v1/users`, { user_id, role, display_name: user_id, initial_password: password }, bearer)
  const login = (origin: string, from: string) =>
    post(`${origin}/v1/auth/login`, { user_id: 'ann', password }, { 'x-forwarded-for': from })
  const challengeAt = async (origin: string, from: string): Promise<string> => {
    const { error } = (await (await login(origin, from)).json()) as Refusal
    return error.details.challenge
  }
  const answer = async (origin: string, from: string, given: object): Promise<number> =>
    (await post(`${origin}/v1/auth/second-factor`, given, { 'x-forwarded-for': from })).status

  const cookie = (await login(a, '192.0.2.1')).headers.getSetCookie()[0]?.split(';', 1)[0] ?? ''
  const browser = { cookie, origin: a, 'x-svc-csrf': '1' }
  const { secret } = (await (await post(`${a}/v1/users/me/totp`, {}, browser)).json()) as Secret
  const step = stepAt(Date.now())
  const code = codeAt(secret, step + 1)
  const confirm = { code: codeAt(secret, step) }
  t.equal((await post(`${a}/v1/users/me/totp/confirm`, confirm, browser)).status, 200)
  copyFileSync(join(dataOf('a'), 'store.key'), join(dataOf('b'), 'store.key'))
  const b = await server('b')

  const challenges = [await challengeAt(a, '192.0.2.1'), await challengeAt(b, '192.0.2.1')]
  const crossed = [b, a] // each is answered at the other server
  const statuses = await Promise.all(
    challenges.map((challenge, i) => answer(crossed[i] ?? a, '192.0.2.1', { challenge, code }))
  )
  t.same(statuses.sort(), [200, 401], 'a code signs in once')

  const guesses = []
  for (let i = 0; i < 18; i++) {
    const from = `198.51.100.${i}`
    guesses.push({ from, challenge: await challengeAt(i % 2 ? a : b, from) })
  }
  const wrong = ['000000', '000001', '000002', '000003', '000004', '000005'].find(
    text => ![0, 1, 2, 3, 4].some(drift => codeAt(secret, step + drift) === text)
  )
  const tried = await Promise.all(
    guesses.map(({ from, challenge }, i) => answer(i % 2 ? b : a, from, { challenge, code: wrong }))
  )
  t.equal(tried.filter(status => status === 401).length, 14, 'with the replay, 15 in 15 minutes')
  t.equal(tried.filter(status => status === 429).length, 4)
})

interface Secret {
  readonly secret: string
}
interface Refusal {
  readonly error: { readonly details: { readonly challenge: string } }
}
