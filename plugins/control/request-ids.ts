import { currentRequestId } from '../../kernel/base/request-id.ts'
import type { ManagedObject } from '../../kernel/control/managed-objects.ts'

type Revision = Pick<ManagedObject, 'clientId' | 'revision'>

const maxKept = 10_000

export type RequestIds = ReturnType<typeof openRequestIds>

/** Remembers the requests that took the last 10,000 revisions, in memory, so that agent and log can name them. */
export function openRequestIds() {
  const requests = new Map<string, string>()
  const keyOf = ({ clientId, revision }: Revision): string => `${clientId} ${revision}`

  return {
    note(revision: Revision): void {
      const request = currentRequestId.getStore()
      if (request === undefined) return
      requests.set(keyOf(revision), request)
      const [oldest] = requests.keys()
      if (requests.size > maxKept && oldest !== undefined) requests.delete(oldest)
    },
    /** Runs `work` with the request that took the revision as the current one. */
    runWith<T>(revision: Revision, work: () => T): T {
      const request = requests.get(keyOf(revision))
      return request === undefined ? work() : currentRequestId.run(request, work)
    }
  }
}
