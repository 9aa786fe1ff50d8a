import { Button, Checkbox, Group, Stack } from '@mantine/core'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useMe } from '../../../api/me.ts'
import { Refusal } from '../../../parts/FormError.tsx'
import type { Schema, Schemas } from '../../../parts/schema-form/schema.ts'
import type { Values } from '../../../parts/schema-form/values.ts'
import { text } from '../../../text/text.ts'
import type { Edge } from '../../clients/queries.ts'
import { Fields } from './MoreFields.tsx'
import { allowedOn, lacking, severalTargets, useGrants } from './offers.ts'
import { modeOf, Place, selectorIn, useSelected } from './Placement.tsx'
import { pathOf, usePlaced } from './rule-errors.ts'
import { handMade } from './sections.ts'
import { Targets } from './Targets.tsx'
import './form.css'

interface Props {
  readonly initial: Values
  readonly edges: readonly Edge[]
  readonly schemas: Schemas | null // null: the plain form, without further fields
  readonly isFixed?: boolean // an edit: client, protocol and owner stay
  readonly error: Error | null
  readonly isBusy: boolean
  readonly submit: string
  readonly onSubmit: (values: Values) => void
  readonly children?: ReactNode // beside the button
}

/** All that a rule can have on its edges, for this caller. What the server refuses stands at its field. */
export function RuleForm({ initial, edges, schemas, isFixed = false, error: thrown, ...form }: Props) {
  const [values, set] = useState(initial)
  const error = usePlaced(thrown)
  const grants = useGrants()
  const chosen = useChosen(values, edges)
  const schema: Schema = schemas?.['RuleCreate'] ?? {}
  const keys = useKeys(schema, isFixed)
  const box = useFocusOnError(error)
  const away = chosen.filter(({ connected }) => !connected)
  const properties = schema.properties ?? {}
  const has = { groups: 'clients' in properties, ranges: canRange(properties['listen_port_end'], chosen) }
  const top = pathOf(error).split('.')[0] ?? ''
  return (
    <form
      ref={box}
      onSubmit={event => {
        event.preventDefault()
        form.onSubmit(values)
      }}
    >
      <Stack gap="lg">
        <Place {...{ values, set, error, edges, chosen, grants, isFixed, has }} />
        {away.length > 0 && !isFixed && (
          <Checkbox
            label={text.ruleForm.queue(away.map(({ client_name }) => client_name).join(', '))}
            checked={values['if_offline'] === 'queue'}
            onChange={event =>
              set({ ...values, if_offline: event.currentTarget.checked ? 'queue' : undefined })
            }
          />
        )}
        <Targets
          {...{ values, set, error }}
          allowed={allowedOn(chosen, grants)?.targets ?? null}
          several={schemas !== null && lacking(chosen, severalTargets).length === 0}
        />
        {schemas && <Fields {...{ values, set, error, schemas, schema, keys, chosen }} />}
        <Refusal error={keys.includes(top) || handMade.has(top) ? null : error} />
        <Group>
          <Button type="submit" loading={form.isBusy}>
            {form.submit}
          </Button>
          {form.children}
        </Group>
      </Stack>
    </form>
  )
}

const canRange = (schema: Schema | undefined, chosen: readonly Edge[]): boolean =>
  schema !== undefined && lacking(chosen, schema['x-requires']).length === 0

/** Which fields this caller may set: who owns a rule is for superadmins. */
function useKeys({ properties = {} }: Schema, isFixed: boolean): readonly string[] {
  const isSuperadmin = useMe().data?.role === 'superadmin'
  const hidden = [...(isSuperadmin ? [] : ['owner', 'placed_by']), ...(isFixed ? ['owner'] : [])]
  return Object.keys(properties).filter(key => !handMade.has(key) && !hidden.includes(key))
}

/** The edges that the values choose. */
function useChosen(values: Values, edges: readonly Edge[]): readonly Edge[] {
  const mode = modeOf(values)
  const selected = useSelected(mode === 'selector' ? selectorIn(values) : '')
  if (mode === 'selector') return selected.data ?? []
  const { ids = [values['client']] } = (values['clients'] ?? {}) as { readonly ids?: readonly unknown[] }
  return edges.filter(({ client_id }) => ids.includes(client_id))
}

/** After a refusal the keyboard stands at the field that is wrong. */
function useFocusOnError(error: Error | null) {
  const box = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (error !== null) box.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [error])
  return box
}
