// Texts that plugins seal before they store them.
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { defineRoute } from '../../../kernel/http/route.ts'
import { StoreValue } from '../../../kernel/identity/entities.ts'
import { definePlugin, type Kernel } from '../../../kernel/plugin.ts'
import { testServer } from '../../../kit/test-server.ts'
import type { Secrets } from '../exports.ts'

const secret = 'JBSWY3DPEHPK3PXP'
const context = 'vault secret 1'

interface Deps extends Kernel {
  readonly secrets: Secrets
}

const put = defineRoute({
  method: 'POST',
  url: '/v1/vault',
  action: 'vault.set',
  access: 'superadmin',
  status: 204,
  summary: 'Stores a secret.',
  schema: () => ({
    body: Type.Object({ text: Type.String() }, { additionalProperties: false }),
    reply: Type.Void()
  }),
  run: ({ secrets }: Deps, call) =>
    call.change({ kind: 'vault', id: '1' }, async em => {
      const value = await secrets.seal(call.body.text, context, em)
      await em.upsert(StoreValue, { name: 'vault', value })
    })
})

const vault = definePlugin<Deps>({
  name: 'vault',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { http: '^1.0.0', secrets: '^1.0.0' },
  routes: [put]
})

async function vaultServer(t: Test) {
  const app = await testServer(t, { plugins: ['users', 'auth', 'audit', 'certificate', 'secrets', vault] })
  const { status, text } = await app.call('POST', '/v1/vault', { text: secret })
  t.equal(status, 204, text)
  const { store, dataDir, secrets } = app.server.depsOf('vault') as Deps
  const sealed = (await store.read(em => em.findOneOrFail(StoreValue, { name: 'vault' }))).value
  return { ...app, app, store, dataDir, secrets, sealed, keyFile: join(dataDir, 'store.key') }
}

t.test('a sealed text opens with its context only, and is unreadable in the store', async t => {
  const { store, secrets, sealed, keyFile } = await vaultServer(t)
  t.match(sealed, /^sealed:1:[0-9a-f]{16}:/)
  t.notMatch(sealed, secret)
  t.equal(secrets.open(sealed, context), secret)
  t.throws(() => secrets.open(sealed, 'vault secret 2'), { message: /sealed for another context/ })
  const changed = sealed.replace(/.{4}$/, 'AAAA')
  t.throws(() => secrets.open(changed, context), { message: /was changed/ })
  t.throws(() => secrets.open(secret, context), { message: 'the text for vault secret 1 is not sealed' })
  t.equal(statSync(keyFile).mode & 0o777, 0o600)
  const other = await store.change(em => secrets.seal(secret, context, em))
  t.not(other, sealed, 'equal texts look different')
})

t.test('a sealed text is in no reply, log line, audit entry or export', async t => {
  const { app, log } = await vaultServer(t)
  for (const path of [
    '/v1/audit',
    '/v1/users',
    '/v1/settings/certificate',
    '/v1/openapi.json',
    '/v1/metrics'
  ]) {
    const { text } = await app.call('GET', path)
    t.notMatch(text, secret, path)
  }
  t.notMatch(JSON.stringify(log), secret)
})

t.test('the secrets open after a restart', async t => {
  const { app, sealed } = await vaultServer(t)
  await app.restart()
  const { secrets } = app.server.depsOf('vault') as Deps
  t.equal(secrets.open(sealed, context), secret)
})

t.test('without its key, or with another one, the server does not start and names the file', async t => {
  const { app, keyFile } = await vaultServer(t)
  renameSync(keyFile, `${keyFile}.away`)
  const lost = {
    errorCode: { code: 'startup.store_key' },
    message: /store\.key is missing: it opens the secrets/
  }
  await t.rejects(app.restart(), lost)
  writeFileSync(keyFile, `${'A'.repeat(43)}\n`, { mode: 0o600 })
  await t.rejects(app.restart(), {
    errorCode: { code: 'startup.store_key' },
    message: /is the key \w+, and secrets/
  })
  rmSync(keyFile)
  renameSync(`${keyFile}.away`, `${keyFile}.restored`)
  await app.restart()
  t.match(readFileSync(keyFile, 'utf8'), /^[\w-]{43}\n$/, 'an interrupted restore is completed')
})
