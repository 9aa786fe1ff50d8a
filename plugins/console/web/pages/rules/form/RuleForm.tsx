import { Button, Checkbox, Group, Stack } from '@mantine/core'
import { type ReactNode, type RefObject, useEffect, useState } from 'react'
import type { ApiError } from '../../../api/api-error.ts'
import { useRight } from '../../../api/rights.ts'
import { FormError } from '../../../parts/form/FormError.tsx'
import { useCheckedForm } from '../../../parts/form/use-checked-form.ts'
import type { Schema, Schemas } from '../../../parts/schema-form/schema.ts'
import type { Values } from '../../../parts/schema-form/values.ts'
import { text } from '../../../text/text.ts'
import type { Client } from '../../clients/queries.ts'
import type { Path } from '../../links/paths.ts'
import { MoreFields } from './MoreFields.tsx'
import { allowedOn, clientsLacking, useGrants } from './offers.ts'
import { modeOf, Placement, selectorIn, useMatchingClients } from './Placement.tsx'
import { pathIn, pathOffers, RulePath } from './RulePath.tsx'
import { pathOf, useErrorWithField } from './rule-errors.ts'
import { ownControls } from './sections.ts'
import { Targets, targetsIn } from './Targets.tsx'
import './form.css'

interface Props {
  readonly initial: Values
  readonly clients: readonly Client[]
  readonly schemas: Schemas | null // null: only the basic fields
  readonly isFixed?: boolean // an edit: client, protocol and owner cannot change
  readonly error: Error | null
  readonly isBusy: boolean
  readonly submit: string
  readonly onSubmit: (values: Values) => void
  readonly children?: ReactNode // beside the button
}

/** The form of a rule, with the fields that its clients support and the user may set. */
export function RuleForm({ initial, clients, schemas, isFixed = false, error: thrown, ...form }: Props) {
  const [values, set] = useState(initial)
  const [refusal, refuse] = useState<ApiError | null>(null)
  const error = useErrorWithField(refusal ?? thrown, pathClientsIn(values))
  const grants = useGrants('listen')
  const exitGrants = useGrants('exit')
  const chosen = useSelectedClients(values, clients)
  const schema: Schema = schemas?.['RuleCreate'] ?? {}
  const keys = useKeys(schema, isFixed)
  const checked = useCheckedForm({ onSubmit: () => form.onSubmit(values), onRefused: refuse })
  useFocusOnError(checked.ref, error)
  const paths = pathOffers({
    values,
    schema: schema.properties?.['via'],
    clients,
    selectedClients: chosen,
    grants: exitGrants
  })
  const has = placesIn(schema, chosen)
  const shared = { values, set, error, selectedClients: chosen }
  const top = pathOf(error).split('.')[0] ?? ''
  return (
    <form {...checked}>
      <div className="rule-columns">
        <Stack gap="lg">
          <Placement {...shared} clients={clients} grants={grants} isFixed={isFixed} has={has} />
          {!isFixed && <QueueCheckbox {...shared} clients={clients} />}
          <Targets
            {...shared}
            allowed={allowedOn(chosen, grants)?.targets ?? null}
            schemas={schemas}
            paths={paths}
          />
          {paths && <RulePath {...shared} {...paths} />}
        </Stack>
        {schemas && <MoreFields {...shared} schemas={schemas} schema={schema} keys={keys} />}
      </div>
      <Stack gap="lg" mt="lg">
        <FormError error={keys.includes(top) || ownControls.has(top) ? null : error} />
        <Group align="end">
          <Button type="submit" loading={form.isBusy}>
            {form.submit}
          </Button>
          {form.children}
        </Group>
      </Stack>
    </form>
  )
}

type QueueProps = Pick<Parameters<typeof Placement>[0], 'values' | 'set' | 'clients' | 'selectedClients'>

/** The clients of all paths of the rule. */
const pathClientsIn = (values: Values): Path => [values, ...targetsIn(values)].flatMap(pathIn)

/** Offers to store the rule for clients that are offline. */
function QueueCheckbox({ values, set, clients, selectedClients }: QueueProps) {
  const onPaths = pathClientsIn(values)
  const offline = new Set(
    [...selectedClients, ...clients.filter(({ client_id }) => onPaths.includes(client_id))].filter(
      ({ connected }) => !connected
    )
  )
  if (offline.size === 0) return null
  return (
    <Checkbox
      label={text.ruleForm.queue([...offline].map(({ client_name }) => client_name).join(', '))}
      checked={values['if_offline'] === 'queue'}
      onChange={event => set({ ...values, if_offline: event.currentTarget.checked ? 'queue' : undefined })}
    />
  )
}

const placesIn = ({ properties = {} }: Schema, chosen: readonly Client[]) => ({
  groups: 'clients' in properties,
  ranges: canRange(properties['listen_port_end'], chosen)
})

const canRange = (schema: Schema | undefined, chosen: readonly Client[]): boolean =>
  schema !== undefined && clientsLacking(chosen, schema['x-requires']).length === 0

/** Returns the fields that the user may set. Only those who manage all rules set the owner. */
function useKeys({ properties = {} }: Schema, isFixed: boolean): readonly string[] {
  const mayPlaceForOthers = useRight('managesAll')
  const hidden = [...(mayPlaceForOthers ? [] : ['owner', 'placed_by']), ...(isFixed ? ['owner'] : [])]
  return Object.keys(properties).filter(key => !ownControls.has(key) && !hidden.includes(key))
}

/** Returns the clients that the form selects. */
function useSelectedClients(values: Values, clients: readonly Client[]): readonly Client[] {
  const mode = modeOf(values)
  const selected = useMatchingClients(mode === 'selector' ? selectorIn(values) : '')
  if (mode === 'selector') return selected.data ?? []
  const { ids = [values['client']] } = (values['clients'] ?? {}) as { readonly ids?: readonly unknown[] }
  return clients.filter(({ client_id }) => ids.includes(client_id))
}

/** Focuses the first invalid field after an error. */
function useFocusOnError(box: RefObject<HTMLFormElement | null>, error: Error | null): void {
  useEffect(() => {
    if (error !== null) box.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [box, error])
}
