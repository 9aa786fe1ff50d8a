// Counts the statements and commits of API calls. Each commit syncs the disk. The limits are the current
// counts: justify any increase.
import t, { type Test } from 'tap'
import { Credential, User } from '../../kernel/identity/entities.ts'
import { hashOf, newSecret } from '../../kernel/identity/secret.ts'
import { connectAcceptingAgent } from '../../kit/accepting-agent.ts'
import { testServer } from '../../kit/test-server.ts'
import { recordStatements } from '../support/record-statements.ts'
import { notOnPostgres, notRepeated } from '../support/store.ts'

/** Starts a server with all plugins, and a superadmin with a token. */
async function startServing(t: Test) {
  const app = await testServer(t)
  const token = newSecret()
  await app.server.depsOf('users').store.change(async em => {
    const user = {
      id: 'root',
      displayName: 'root',
      role: 'superadmin' as const,
      disabled: false,
      createdAt: 0
    }
    await em.insert(User, user)
    const credential = {
      userId: 'root',
      label: '',
      tokenHash: hashOf(token),
      createdAt: 0,
      lastUsedAt: app.clock.now()
    }
    await em.insert(Credential, { id: 'root', ...credential })
  })
  const asked = recordStatements(t)
  /** Makes the call and returns its store counts. */
  async function costOf(method: 'POST' | 'PATCH', url: string, body: object) {
    asked.reset()
    const reply = await app.call(method, url, body, { authorization: `Bearer ${token}` })
    t.ok(reply.status < 300, `${method} ${url}: ${reply.status}`)
    return { statements: asked.sql.length, commits: asked.sql.filter(one => one === 'commit').length }
  }
  return { app, costOf }
}

const skip = notOnPostgres('it counts statements of SQLite') || notRepeated('it counts statements')

t.test('a small change is one commit of few statements', { skip }, async t => {
  const { costOf } = await startServing(t)
  const rename = (display_name: string) => costOf('PATCH', '/v1/users/root', { display_name })
  await rename('first') // warms the cache

  const { statements, commits } = await rename('second')

  t.equal(commits, 1)
  t.ok(statements <= 16, `${statements} statements`)
})

t.test(
  'a rule is three commits: the rule, the acknowledgement of its agent, and the status of the reply',
  { skip },
  async t => {
    const { app, costOf } = await startServing(t)
    const { clientId } = await connectAcceptingAgent(t, app, 'edge')
    const targets = [{ host: '192.0.2.1', port: 80 }]
    const create = (port: number) =>
      costOf('POST', '/v1/rules', { client: clientId, listen_port: port, targets })
    await create(1000)

    const { statements, commits } = await create(1001)

    t.equal(commits, 3)
    t.ok(statements <= 51, `${statements} statements`)
  }
)
