// Further audit entries within the transaction of a change.
import type { EntityManager } from '@mikro-orm/sql'
import { currentRequestId } from '../../../kernel/base/request-id.ts'
import { newId } from '../../../kernel/platform/id.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { decisionOf, type NamedResource, type Recorder } from './decision.ts'

/**
 * Writes the entry of an additional change to the audit log, in the transaction of the request's own change. `actor` is '_'
 * and the plugin's name, `action` is for example 'user.create'.
 */
export type RecordAs = (
  em: EntityManager,
  entry: { readonly actor: string; readonly action: string; readonly resource: NamedResource }
) => Promise<void>

interface Deps extends Pick<Kernel, 'clock'> {
  readonly recorder: Recorder
}

export const openRecordAs =
  ({ clock, recorder }: Deps): RecordAs =>
  async (em, { actor, action, resource }) => {
    const now = clock.now()
    const decision = decisionOf({
      timestamp: now,
      action,
      actor,
      role: 'superadmin',
      authMethod: 'system',
      remoteAddr: null,
      method: '',
      path: '',
      resource,
      status: 200,
      reason: null,
      requestId: currentRequestId.getStore() ?? newId(now)
    })
    await recorder.write(decision, em)
  }
