import { type Handler, Refused } from '../../kernel/wire/message.ts'
import type { AgentApplyResult, AgentCall, AgentObject, AgentObjectKind, ObjectChange } from '../plugin.ts'

/** Returns the handlers of a kind's pushes and removals. A push is decoded once, and its bytes are saved as they came. */
export function objectHandlers(kind: AgentObjectKind): Handler<AgentCall>[] {
  const { push, remove } = kind
  const onPush: Handler<AgentCall> = {
    name: push.name,
    async run(call, codec, frame) {
      const bytes = Uint8Array.from(frame) // a copy: the object does not keep the whole frame in memory
      const body = codec.decode(push, bytes)
      const change = kind.readPush(body)
      const { id, revision, removal, attempts = 'retry' } = change
      const present = removal
        ? await drop(kind, change, call)
        : presentRevision(await call.objects.put(objectOf(kind, change, { body, bytes }, call), attempts))
      if (!removal && present === revision) kind.applied?.(body, call)
      return { name: push.response.name, body: codec.encode(push.response, kind.answer(id, present)) }
    }
  }
  if (!remove) return [onPush]
  const onRemove: Handler<AgentCall> = {
    name: remove.name,
    async run(call, codec, bytes) {
      const change = kind.readRemove?.(codec.decode(remove, bytes))
      if (!change) throw new TypeError(`kind ${kind.kind} has a message to remove objects, but no readRemove`)
      const present = await drop(kind, change, call)
      return {
        name: remove.response.name,
        body: codec.encode(remove.response, kind.answer(change.id, present))
      }
    }
  }
  return [onPush, onRemove]
}

interface Decoded {
  readonly body: unknown
  readonly bytes: Uint8Array
}

const objectOf = (
  { kind, saved }: AgentObjectKind,
  { id, revision }: ObjectChange,
  { body, bytes }: Decoded,
  call: AgentCall
): AgentObject =>
  saved ? { kind, id, revision, value: saved.from(body, call) } : { kind, id, revision, value: body, bytes }

async function drop(
  { kind }: AgentObjectKind,
  { id, revision, removal = 'cut' }: ObjectChange,
  { objects }: AgentCall
): Promise<number> {
  return presentRevision(await objects.drop({ kind, id, revision }, removal))
}

/** Throws a refusal, for the server. */
function presentRevision(result: AgentApplyResult): number {
  if (result.status === 'refused') throw new Refused(result.code, result.message)
  return result.revision
}
