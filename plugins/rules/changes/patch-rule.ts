// PATCH, pause and resume: a rule is edited while it runs.
import { Fault } from '../../../kernel/base/errors.ts'
import type { RuleRecord } from '../api/rule-record.ts'
import type { ChangeQuery, PatchBody } from '../api/schema.ts'
import { bodyEmpty } from '../codes.ts'
import { isGroupRule } from '../entities.ts'
import type { ChangeBy } from '../fields/fields.ts'
import type { Change, Services } from '../services.ts'
import { changesOf, type Stored, type Wanted } from './apply-change.ts'
import { type Operation, openChange } from './change-rule.ts'
import { parse } from './new-rule.ts'
import { editsOf, merged, requireUnchanged } from './patch-body.ts'
import { place } from './placement.ts'
import { anyRule, bodyOf } from './rule-body.ts'

export const openPatch = (services: Services) => {
  const change = openChange(services)
  const { fields, reader } = services

  async function patched(stored: Stored, patch: PatchBody, { principal, em }: ChangeBy): Promise<Wanted> {
    const { rule, values } = stored
    const body = merged({ ...bodyOf(rule), ...values }, editsOf(patch, services), services)
    const draft = parse(body)
    const next = { ...fields.none(), ...fields.parse(body, draft, principal) }
    const wanted = { ...rule, ...draft, paused: body.paused ?? false, values: next }
    const isPlaced = changesOf(stored, wanted).some(({ field }) => !fields.isHot(field) && field !== 'paused')
    if (patch.placed_by === undefined && !isPlaced) return wanted
    return { ...wanted, ...(await placeOf(stored, patch, { principal, em })) }
  }

  /** Who says where a rule listens or forwards has placed it: grants limit them. A superadmin leaves that as it is. */
  function placeOf({ rule }: Stored, patch: PatchBody, { principal, em }: ChangeBy) {
    const isSuperadmin = principal.role === 'superadmin'
    const placer = patch.placed_by ?? (isSuperadmin ? rule.placedBy : undefined)
    const owner = {
      ...(!isGroupRule(rule) && { client: rule.clientId }),
      owner: rule.owner,
      ...(placer !== undefined && { placed_by: placer })
    }
    return place(owner, principal, services.filled, em)
  }

  /** As `patch`, without the record: bulk changes need none. */
  function edit(
    id: string,
    patch: PatchBody,
    { ack_timeout_secs: ackSecs, existing }: ChangeQuery,
    call: Change
  ): Promise<void> {
    if (Object.keys(patch).length === 0)
      throw new Fault(bodyEmpty, 'the body is empty; send the fields to change')
    const operation = {
      kind: 'patch',
      ackSecs,
      existing,
      refuse: () => {
        const body = merged(anyRule, editsOf(patch, services), services)
        fields.parse(body, parse(body), call.principal)
      },
      wanted: async (stored, by) => {
        await requireUnchanged(stored, patch, services, by.em)
        return patched(stored, patch, by)
      }
    } satisfies Operation
    return change(id, operation, call)
  }

  return {
    edit,
    async patch(...[id, patch, query, call]: Parameters<typeof edit>): Promise<RuleRecord> {
      await edit(id, patch, query, call)
      return reader.read(id, call.principal)
    }
  }
}
