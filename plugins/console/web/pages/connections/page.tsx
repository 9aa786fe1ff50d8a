import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useState } from 'react'
import { useRight } from '../../api/rights.ts'
import { PageHead } from '../../parts/page/PageHead.tsx'
import { useUrlFilter } from '../../parts/use-url-filter.ts'
import { text } from '../../text/text.ts'
import { useClients } from '../clients/queries.ts'
import { LiveConnections } from './LiveConnections.tsx'
import type { LiveFilter } from './use-live-connections.ts'

const textFilters = ['source', 'target', 'owner'] as const
const names = [...textFilters, 'client', 'rule_id', 'protocol'] as const
type Name = (typeof names)[number]

/** The filter is in the URL: /connections?source=198.51.100.0/24&client=paris */
export default function Connections() {
  const { filter: all, set } = useUrlFilter(names)
  const filter: LiveFilter = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''))
  return (
    <>
      <PageHead title={text.pages.connections} />
      <LiveConnections filter={filter} tools={<FilterInputs filter={filter} set={set} />} />
    </>
  )
}

interface FilterInputsProps {
  readonly filter: LiveFilter
  readonly set: (name: Name, value: string) => void
}

function FilterInputs({ filter, set }: FilterInputsProps) {
  const clients = useClients()
  const seesAll = useRight('seesAll')
  return (
    <>
      {textFilters
        .filter(name => name !== 'owner' || seesAll)
        .map(name => (
          <TextFilter key={name} name={name} value={filter[name] ?? ''} set={set} />
        ))}
      <NativeSelect
        aria-label={text.rules.client}
        value={filter.client ?? ''}
        onChange={event => set('client', event.currentTarget.value)}
        data={[
          { value: '', label: text.connections.anyClient },
          ...(clients.data ?? []).map(({ client_id: value, client_name: label }) => ({ value, label }))
        ]}
      />
      <NativeSelect
        aria-label={text.rules.protocol}
        value={filter.protocol ?? ''}
        onChange={event => set('protocol', event.currentTarget.value)}
        data={[{ value: '', label: text.connections.anyProtocol }, 'tcp', 'udp']}
      />
      {filter.rule_id !== undefined && (
        <Button
          variant="light"
          rightSection={<span aria-hidden="true">✕</span>}
          onClick={() => set('rule_id', '')}
        >
          {text.connections.oneRule}
        </Button>
      )}
    </>
  )
}

interface TextFilterProps {
  readonly name: (typeof textFilters)[number]
  readonly value: string
  readonly set: FilterInputsProps['set']
}

function TextFilter({ name, value, set }: TextFilterProps) {
  const [typed, setTyped] = useState(value)
  const apply = useDebouncedCallback((next: string) => set(name, next.trim()), 400)
  return (
    <TextInput
      aria-label={text.connections.filters[name]}
      placeholder={text.connections.filters[name]}
      value={typed}
      onChange={event => {
        setTyped(event.currentTarget.value)
        apply(event.currentTarget.value)
      }}
      autoCapitalize="none"
      w={210}
    />
  )
}
