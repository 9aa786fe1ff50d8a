import { type Handler, Refused } from '../../kernel/wire/message.ts'
import type { AgentApplyResult, AgentCall, AgentObjectKind } from '../plugin.ts'

/**
 * Returns the handlers of a kind's pushes and removals. A push is decoded once. Its bytes are saved unchanged, unless the
 * kind derives the saved object.
 */
export function objectHandlers(objectKind: AgentObjectKind): Handler<AgentCall>[] {
  const { kind, push, remove, saved } = objectKind
  const onPush: Handler<AgentCall> = {
    name: push.name,
    isGrouped: true, // changes that arrive together are saved with one sync
    async run(call, codec, frame) {
      const bytes = Uint8Array.from(frame) // a copy, so that the object does not hold the whole frame in memory
      const body = codec.decode(push, bytes)
      const { id, revision, removal, attempts = 'retry' } = objectKind.readPush(body)
      const content = () => (saved ? { value: saved.from(body, call) } : { value: body, bytes })
      const result = removal
        ? await call.objects.drop({ kind, id, revision }, removal)
        : await call.objects.put({ kind, id, revision, ...content() }, attempts)
      const present = presentRevision(result)
      if (!removal && present === revision) objectKind.applied?.(body, call)
      return { name: push.response.name, body: codec.encode(push.response, objectKind.answer(id, present)) }
    }
  }
  if (!remove) return [onPush]
  const onRemove: Handler<AgentCall> = {
    name: remove.name,
    isGrouped: true,
    async run({ objects }, codec, bytes) {
      const change = objectKind.readRemove?.(codec.decode(remove, bytes))
      if (!change) throw new TypeError(`kind ${kind} has a message to remove objects, but no readRemove`)
      const { id, revision, removal = 'cut' } = change
      const present = presentRevision(await objects.drop({ kind, id, revision }, removal))
      return {
        name: remove.response.name,
        body: codec.encode(remove.response, objectKind.answer(id, present))
      }
    }
  }
  return [onPush, onRemove]
}

/** Returns the revision that the agent has now. Throws a refusal for the server. */
function presentRevision(result: AgentApplyResult): number {
  if (result.status === 'refused') throw new Refused(result.code, result.message)
  return result.revision
}
