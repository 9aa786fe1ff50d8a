import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { useMe } from '../../api/me.ts'
import { Head } from '../../parts/PageHead.tsx'
import { text } from '../../text/text.ts'
import { useEdges } from '../clients/queries.ts'
import { Live } from './LiveConnections.tsx'
import type { LiveFilter } from './use-live-connections.ts'

const words = ['source', 'target', 'owner'] as const
const names = [...words, 'client', 'rule_id', 'protocol'] as const
type Name = (typeof names)[number]

/** /connections?source=198.51.100.0/24&client=paris: the filter is in the address. */
export default function Connections() {
  const [params, setParams] = useSearchParams()
  const filter = Object.fromEntries(
    names.flatMap(name => (params.get(name) ? [[name, params.get(name)]] : []))
  ) as LiveFilter
  const set = (name: Name, value: string): void =>
    setParams(
      before => {
        const next = new URLSearchParams(before)
        if (value === '') next.delete(name)
        else next.set(name, value)
        return next
      },
      { replace: true }
    )
  return (
    <>
      <Head title={text.pages.connections} />
      <Live fixed={filter} tools={<Tools filter={filter} set={set} />} />
    </>
  )
}

interface ToolsProps {
  readonly filter: LiveFilter
  readonly set: (name: Name, value: string) => void
}

function Tools({ filter, set }: ToolsProps) {
  const edges = useEdges()
  const isSuperadmin = useMe().data?.role === 'superadmin'
  return (
    <>
      {words
        .filter(name => name !== 'owner' || isSuperadmin)
        .map(name => (
          <Words key={name} name={name} value={filter[name] ?? ''} set={set} />
        ))}
      <NativeSelect
        aria-label={text.rules.edge}
        value={filter.client ?? ''}
        onChange={event => set('client', event.currentTarget.value)}
        data={[
          { value: '', label: text.connections.anyEdge },
          ...(edges.data ?? []).map(({ client_id: value, client_name: label }) => ({ value, label }))
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
          {text.connections.ofRule}
        </Button>
      )}
    </>
  )
}

interface WordsProps {
  readonly name: (typeof words)[number]
  readonly value: string
  readonly set: ToolsProps['set']
}

function Words({ name, value, set }: WordsProps) {
  const [written, setWritten] = useState(value)
  const apply = useDebouncedCallback((next: string) => set(name, next.trim()), 400)
  return (
    <TextInput
      aria-label={text.connections.filters[name]}
      placeholder={text.connections.filters[name]}
      value={written}
      onChange={event => {
        setWritten(event.currentTarget.value)
        apply(event.currentTarget.value)
      }}
      autoCapitalize="none"
      w={210}
    />
  )
}
