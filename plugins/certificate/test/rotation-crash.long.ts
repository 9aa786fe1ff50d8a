// A rotation that is killed leaves a server that starts, with a certificate that its agents trust.
import { chmodSync, cpSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Client } from '../../../kernel/identity/entities.ts'
import { hashOf, newSecret } from '../../../kernel/identity/secret.ts'
import { newId } from '../../../kernel/platform/id.ts'
import { kernelStore } from '../../../kernel/store/kernel-store.ts'
import { openStore } from '../../../kernel/store/open.ts'
import { recordLog, testServer } from '../../../kit/test-server.ts'
import { killAtEachChange } from '../../../test/support/kill-at-each-change.ts'
import { openCertificate } from '../certificate.ts'
import { requirePinned, storeValue } from '../certificate-pins.ts'
import { openCertificateStore } from '../certificate-store.ts'
import { NextPinRow } from '../entities.ts'
import plugin from '../plugin.ts'
import { Rotation } from '../rotation.ts'

t.test(
  'a kill at every step of cert reissue --rotate and cert activate leaves a server that its agents trust',
  { timeout: 480_000 },
  async t => {
    const dir = t.testdir({ present: {}, staged: {} })
    const [present, staged] = [join(dir, 'present'), join(dir, 'staged')]
    const { fingerprint } = await openCertificate(present)
    const openIn = (path: string) => openStore(join(path, 'sluice.db'), [kernelStore, plugin])
    const [clientId, tokenHash] = [newId(), hashOf(newSecret())]
    const first = await openIn(present)
    await requirePinned(first, fingerprint)
    const client = { id: clientId, name: 'paris', address: null, tokenHash, revision: 0, enrolledAt: 0 }
    await first.change(em => em.insert(Client, client))
    await first.close()
    cpSync(present, staged, { recursive: true })
    const store = await openIn(staged)
    const certificates = await openCertificateStore({ dir: staged, store, log: recordLog([]) })
    const rotation = new Rotation({ certificates, settings: {}, store })
    const { fingerprint: next } = await rotation.reissue({ names: [] }, 'rotate')
    await store.change(em => em.insert(NextPinRow, { clientId, fingerprint: next, tokenHash })) // the agent trusts both
    await store.close()

    const steps = [
      { step: 'stage', from: present, trusted: [fingerprint] },
      { step: 'activate', from: staged, trusted: [fingerprint, next] }
    ]
    for (const { step, from, trusted } of steps) {
      const target = (kill: number) => join(dir, `${step}-${kill}`)
      const served = new Set<string>()
      const kills = await killAtEachChange(
        t,
        join(import.meta.dirname, 'rotation-child.ts'),
        kill => {
          cpSync(from, target(kill), { recursive: true })
          chmodSync(target(kill), 0o700)
          return [target(kill), step]
        },
        async kill => {
          const { server, stop } = await testServer(t, { plugins: [], dir: target(kill) })
          t.ok(
            trusted.includes(server.control.fingerprint),
            `${step}, ${kill}: its agents trust the certificate`
          )
          served.add(server.control.fingerprint)
          const named = await server.depsOf('control').store.read(em => storeValue('leaf', em))
          t.equal(named, server.control.fingerprint)
          await stop()
        }
      )
      t.ok(kills > 2, `${step}: ${kills} steps`)
      t.ok(served.has(trusted.at(-1) ?? ''), 'completed, it has switched')
    }
  }
)
