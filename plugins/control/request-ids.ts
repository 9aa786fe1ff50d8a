// Which request a revision was taken for, so that agent and log can name it. In memory, and not for ever.

import { currentRequestId } from '../../kernel/base/request-id.ts'
import type { ManagedObject } from '../../kernel/control/managed-objects.ts'

type Taken = Pick<ManagedObject, 'clientId' | 'revision'>

const kept = 10_000

export type RequestIds = ReturnType<typeof openRequestIds>

export function openRequestIds() {
  const requests = new Map<string, string>()
  const keyOf = ({ clientId, revision }: Taken): string => `${clientId} ${revision}`

  return {
    note(taken: Taken): void {
      const request = currentRequestId.getStore()
      if (request === undefined) return
      requests.set(keyOf(taken), request)
      const [oldest] = requests.keys()
      if (requests.size > kept && oldest !== undefined) requests.delete(oldest)
    },
    /** Does it in the name of that request. */
    within<T>(taken: Taken, work: () => T): T {
      const request = requests.get(keyOf(taken))
      return request === undefined ? work() : currentRequestId.run(request, work)
    }
  }
}
