import type { EntityManager } from '@mikro-orm/sql'
import type { ObjectKey, ObjectRevision } from '../../../kernel/control/managed-objects.ts'

export const objectKeyText = ({ clientId, kind, id }: ObjectKey): string => `${clientId} ${kind} ${id}`

const maxObjects = 128 // per statement

/** Returns the revisions of the objects that have a row, by `objectKeyText`. One statement reads up to 128. */
export async function readRevisions(
  objects: readonly ObjectKey[],
  em: EntityManager
): Promise<Map<string, number>> {
  const revisions = new Map<string, number>()
  for (let at = 0; at < objects.length; at += maxObjects) {
    const some = objects.slice(at, at + maxObjects)
    const rows = await em.execute<ObjectRevision[]>(
      `select client_id as "clientId", kind, id, revision from kernel_managed_object
       where (client_id, kind, id) in (values ${some.map(() => '(?, ?, ?)')})`,
      some.flatMap(({ clientId, kind, id }) => [clientId, kind, id])
    )
    for (const row of rows) revisions.set(objectKeyText(row), Number(row.revision))
  }
  return revisions
}
