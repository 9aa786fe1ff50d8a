import type { Removal } from '../users/exports.ts'
import { NotifyDelivery, NotifyMessage, NotifyObject, NotifyPart, NotifyRule } from './entities.ts'

/** Deletes what notifications say about a deleted user, so that a later user of that name does not see it. */
export const userRemoval: Removal = {
  async remove({ id: owner }, em) {
    await em.nativeDelete(NotifyPart, { owner })
    await em.nativeDelete(NotifyObject, { owner })
    await em.nativeDelete(NotifyRule, { owner })
    const empty = await em.execute<{ id: string }[]>(
      'select id from notify_message where id not in (select message from notify_part)'
    )
    const ids = empty.map(({ id }) => id)
    await em.nativeDelete(NotifyDelivery, { message: { $in: ids } })
    await em.nativeDelete(NotifyMessage, { id: { $in: ids } })
    return { ids: [] }
  }
}
