// The identities of tests: the operator of a server, and clients with known tokens.
import type { Clock } from '../kernel/base/clock.ts'
import { Client } from '../kernel/identity/entities.ts'
import { hashOf } from '../kernel/identity/secret.ts'
import type { Server } from '../kernel/kernel.ts'
import { newId } from '../kernel/platform/id.ts'

export const operatorToken = 'operator-token-of-the-test-kit-0123456789'

export interface RunningServer {
  readonly server: Server
  readonly clock: Clock
}

/** Creates a client and returns its id, which is also the token of its agent. */
export async function insertClient({ server, clock }: RunningServer, name: string): Promise<string> {
  const id = newId(clock.now())
  const row = { id, name, tokenHash: hashOf(id), revision: 0, enrolledAt: clock.now() }
  await server.depsOf('clients').store.change(em => em.insert(Client, row))
  return id
}
