import { currentRequestId } from '../../../kernel/base/request-id.ts'
import { currentTrace, type Trace } from '../../../kernel/base/trace.ts'
import type { ManagedObject } from '../../../kernel/control/managed-objects.ts'

type Revision = Pick<ManagedObject, 'clientId' | 'revision'>

const maxPerHalf = 10_000

export interface RequestIds {
  /** Remembers the current request as the one that took the revision. */
  note(revision: Revision): void
  /** Runs `work` with the request that took the revision as the current one. */
  runWith<T>(revision: Revision, work: () => T): T
}

interface Cause {
  readonly request: string
  readonly trace: Trace | undefined
}

/** Remembers in memory which requests took the last 10,000 to 20,000 revisions, so that agent, log and traces can name them. */
export function openRequestIds(): RequestIds {
  let younger = new Map<string, Cause>()
  let older = new Map<string, Cause>() // two halves, because finding the oldest entry of one map takes longer each time
  const keyOf = ({ clientId, revision }: Revision): string => `${clientId} ${revision}`

  return {
    note(revision) {
      const request = currentRequestId.getStore()
      if (request === undefined) return
      if (younger.size >= maxPerHalf) {
        older = younger
        younger = new Map()
      }
      younger.set(keyOf(revision), { request, trace: currentTrace.getStore() })
    },
    runWith(revision, work) {
      const key = keyOf(revision)
      const cause = younger.get(key) ?? older.get(key)
      if (!cause) return work()
      const { request, trace } = cause
      const traced = trace ? () => currentTrace.run(trace, work) : work
      return currentRequestId.run(request, traced)
    }
  }
}
