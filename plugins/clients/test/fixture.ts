import { Client } from '../../../kernel/identity/entities.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import { newId } from '../../../kernel/platform/id.ts'
import type { TestServer } from '../../../kit/test-server.ts'

export const notFound = { status: 404, body: { error: { code: 'client_not_found' } } }

/** Inserts clients as if agents had enrolled, and returns their ids. */
export async function insertClients(
  { server, clock }: TestServer,
  ...names: readonly string[]
): Promise<string[]> {
  const { store } = server.depsOf('clients')
  const rows = names.map(name => {
    const id = newId(clock.now())
    return { id, name, tokenHash: hashOf(id), revision: 0, enrolledAt: clock.now() }
  })
  await store.change(em => em.insertMany(Client, rows))
  return rows.map(({ id }) => id)
}
