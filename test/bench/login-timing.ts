// Measures whether timing reveals the existence of users. Alternates wrong logins of known and unknown users, and prints
// the medians, which should differ by at most 10 %.
//   node test/bench/login-timing.ts [--samples 1000]
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { newSecret } from '../../kernel/identity/secret.ts'
import { start } from '../support/process.ts'

const { values } = parseArgs({ options: { samples: { type: 'string', default: '1000' } } })
const samples = Number(values.samples)
const triesPerUser = 90 // the server slows down a user's logins after 100

const releases: (() => unknown)[] = []
const t = { teardown: (release: () => unknown) => void releases.push(release) }
const dir = mkdtempSync(join(import.meta.dirname, '.timing-'))
const token = newSecret()
const server = start(t, ['server', '--data-dir', dir], {
  SVC_OPERATOR_TOKEN: token,
  SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
  SVC_CONTROL_LISTEN: '127.0.0.1:0',
  SVC_METRICS_LISTEN: '127.0.0.1:0',
  SVC_TRUSTED_PROXIES: '127.0.0.1'
})

const medianOf = (all: readonly number[]): number =>
  all.toSorted((a, b) => a - b)[all.length >> 1] ?? Number.NaN

async function main(): Promise<void> {
  const origin = String((await server.until('server.started'))['origin'])
  const post = (path: string, body: object, headers: Record<string, string>) =>
    fetch(origin + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body)
    })

  let caller = 0
  /** Each attempt has a different address, so that no lockout distorts the result. */
  async function timeLogin(userId: string): Promise<number> {
    caller += 1
    const from = { 'x-forwarded-for': `10.0.${caller >> 8}.${caller & 255}` }
    const began = performance.now()
    const reply = await post('/v1/auth/login', { user_id: userId, password: 'wrong wrong wrong' }, from)
    await reply.text()
    if (reply.status !== 401) throw new Error(`${userId}: ${reply.status}`)
    return performance.now() - began
  }

  for (let at = 0; at * triesPerUser < samples; at++) {
    const user = { user_id: `known-${at}`, display_name: 'Known', initial_password: newSecret() }
    await post('/v1/users', user, { authorization: `Bearer ${token}` })
  }
  const [known, unknown]: [number[], number[]] = [[], []]
  for (let at = 0; at < samples; at++) {
    const user = Math.floor(at / triesPerUser)
    const both = [
      () => timeLogin(`known-${user}`).then(ms => known.push(ms)),
      () => timeLogin(`other-${user}`).then(ms => unknown.push(ms))
    ]
    for (const attempt of at % 2 === 0 ? both : both.reverse()) await attempt()
  }
  const a = medianOf(known)
  const b = medianOf(unknown)
  process.stdout.write(
    `${samples} samples each: known ${a.toFixed(2)} ms, unknown ${b.toFixed(2)} ms, ` +
      `apart ${((Math.abs(a - b) / Math.min(a, b)) * 100).toFixed(1)} %\n`
  )
}

try {
  await main()
} finally {
  for (const release of releases.reverse()) await release()
  rmSync(dir, { recursive: true })
}
