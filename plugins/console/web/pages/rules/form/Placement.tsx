import { Checkbox, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { rows } from '../../../api/call.ts'
import { count } from '../../../format.ts'
import { fieldError } from '../../../parts/form/field-error.ts'
import { NumberField } from '../../../parts/form/NumberField.tsx'
import { isObject, type Values } from '../../../parts/schema-form/values.ts'
import { text } from '../../../text/text.ts'
import type { Client } from '../../clients/queries.ts'
import { allowedOn, clientsLacking, type Grant, udp } from './offers.ts'

interface Props {
  readonly values: Values
  readonly set: (values: Values) => void
  readonly error: Error | null
  readonly clients: readonly Client[] // selectable clients
  readonly selectedClients: readonly Client[]
  readonly grants: readonly Grant[] | null
  readonly isFixed: boolean // an edit: client and protocol cannot change
  readonly has: { readonly groups: boolean; readonly ranges: boolean }
}

type Mode = 'one' | 'ids' | 'selector'

export const modeOf = ({ clients }: Values): Mode => {
  if (!isObject(clients)) return 'one'
  return 'selector' in clients ? 'selector' : 'ids'
}

/** Where callers connect: clients, ports and protocol. */
export function Placement(props: Props) {
  const { values, set, error, clients, selectedClients, grants, isFixed, has } = props
  const mode = modeOf(values)
  const isNone = allowedOn(selectedClients, grants)?.isNone ?? false
  return (
    <Stack>
      {has.groups && !(isFixed && mode === 'one') && (
        <ModeInput values={values} set={set} clients={clients} isFixed={isFixed} />
      )}
      {mode === 'one' && !isFixed && (
        <NativeSelect
          label={text.rules.client}
          data={clients.map(({ client_id: value, client_name: label, connected }) => ({
            value,
            label: connected ? label : text.ruleForm.offline(label)
          }))}
          value={String(values['client'] ?? '')}
          onChange={event => set({ ...values, client: event.currentTarget.value })}
          error={fieldError(error, 'client') ?? (isNone && text.ruleForm.notGranted)}
        />
      )}
      {mode === 'ids' && <ClientsInput values={values} set={set} clients={clients} error={error} />}
      {mode === 'selector' && <SelectorInput values={values} set={set} error={error} />}
      <Ports {...props} />
    </Stack>
  )
}

function Ports({ values, set, error, selectedClients, grants, isFixed, has }: Props) {
  const allowed = allowedOn(selectedClients, grants)
  const protocols = (['tcp', 'udp'] as const).filter(
    name =>
      (allowed === null || allowed.isNone || allowed.protocols.includes(name)) &&
      (name === 'tcp' || clientsLacking(selectedClients, udp).length === 0)
  )
  const port = (key: string) => ({
    name: key,
    value: typeof values[key] === 'number' ? values[key] : '',
    onChange: (next: number | '') => set({ ...values, [key]: next === '' ? undefined : next }),
    error: fieldError(error, key)
  })
  return (
    <div className="ports">
      <NumberField
        label={text.rules.port}
        description={allowed && !allowed.isNone ? text.ruleForm.allowed(allowed.ports.join(', ')) : undefined}
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        data-autofocus
        required
        {...port('listen_port')}
      />
      {has.ranges && <NumberField label={text.ruleForm.lastPort} {...port('listen_port_end')} />}
      {!isFixed && (
        <NativeSelect
          label={text.rules.protocol}
          data={[...protocols]}
          value={String(values['protocol'])}
          onChange={event => set({ ...values, protocol: event.currentTarget.value })}
          error={fieldError(error, 'protocol')}
        />
      )}
    </div>
  )
}

function ModeInput({ values, set, clients, isFixed }: Pick<Props, 'values' | 'set' | 'clients' | 'isFixed'>) {
  const modes: readonly Mode[] = isFixed ? ['ids', 'selector'] : ['one', 'ids', 'selector']
  return (
    <NativeSelect
      label={text.ruleForm.where}
      data={modes.map(value => ({ value, label: text.ruleForm.modes[value] }))}
      value={modeOf(values)}
      onChange={({ currentTarget: { value } }) => {
        const { client, clients: _, ...rest } = values
        if (value === 'one') set({ ...rest, client: client ?? clients[0]?.client_id })
        else
          set({
            ...rest,
            clients: value === 'ids' ? { ids: client === undefined ? [] : [client] } : { selector: '' }
          })
      }}
    />
  )
}

const clientIdsIn = ({ clients }: Values): readonly string[] =>
  isObject(clients) && Array.isArray(clients['ids']) ? (clients['ids'] as string[]) : []

function ClientsInput({ values, set, clients, error }: Pick<Props, 'values' | 'set' | 'clients' | 'error'>) {
  const ids = clientIdsIn(values)
  return (
    <Checkbox.Group
      label={text.pages.clients}
      error={fieldError(error, 'clients', 'parts')}
      value={[...ids]}
      onChange={next => set({ ...values, clients: { ids: next } })}
    >
      <div className="choices">
        {clients.map(({ client_id, client_name, connected }) => (
          <Checkbox
            key={client_id}
            value={client_id}
            label={connected ? client_name : text.ruleForm.offline(client_name)}
          />
        ))}
      </div>
    </Checkbox.Group>
  )
}

export const selectorIn = ({ clients }: Values): string =>
  isObject(clients) && typeof clients['selector'] === 'string' ? clients['selector'] : ''

/** Reads the clients that match a selector now. */
export function useMatchingClients(selector: string) {
  const [settled] = useDebouncedValue(selector.trim(), 300)
  return useQuery({
    queryKey: ['clients', 'selected', settled],
    queryFn: () => rows('GET /v1/clients', { query: { selector: settled } }),
    enabled: settled !== ''
  })
}

function SelectorInput({ values, set, error }: Pick<Props, 'values' | 'set' | 'error'>) {
  const selector = selectorIn(values)
  const found = useMatchingClients(selector)
  return (
    <div>
      <TextInput
        label={text.ruleForm.selector}
        description={text.ruleForm.selectorHint}
        name="clients.selector"
        placeholder="env=prod,tier!=db"
        value={selector}
        onChange={event => set({ ...values, clients: { selector: event.currentTarget.value } })}
        error={fieldError(error, 'clients', 'parts') ?? fieldError(found.error, 'selector')}
        autoCapitalize="none"
        required
      />
      {found.data && (
        <Text size="sm" c="dimmed" role="status" mt={4}>
          {text.ruleForm.selected(
            count(found.data.length),
            found.data.map(client => client.client_name).join(', ')
          )}
        </Text>
      )}
    </div>
  )
}
