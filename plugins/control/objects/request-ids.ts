import { currentRequestId } from '../../../kernel/base/request-id.ts'
import type { ManagedObject } from '../../../kernel/control/managed-objects.ts'

type Revision = Pick<ManagedObject, 'clientId' | 'revision'>

const maxOfHalf = 10_000

export type RequestIds = ReturnType<typeof openRequestIds>

/** Remembers the requests that took the last 10,000 to 20,000 revisions, in memory, so that agent and log can name them. */
export function openRequestIds() {
  let [younger, older] = [new Map<string, string>(), new Map<string, string>()] // to find the oldest of one map takes longer each time
  const keyOf = ({ clientId, revision }: Revision): string => `${clientId} ${revision}`

  return {
    note(revision: Revision): void {
      const request = currentRequestId.getStore()
      if (request === undefined) return
      if (younger.size >= maxOfHalf) [younger, older] = [new Map(), younger]
      younger.set(keyOf(revision), request)
    },
    /** Runs `work` with the request that took the revision as the current one. */
    runWith<T>(revision: Revision, work: () => T): T {
      const key = keyOf(revision)
      const request = younger.get(key) ?? older.get(key)
      return request === undefined ? work() : currentRequestId.run(request, work)
    }
  }
}
