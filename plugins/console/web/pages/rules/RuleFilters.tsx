import { Button, Group, NativeSelect, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useState } from 'react'
import { fieldError } from '../../parts/field-error.ts'
import { text } from '../../text/text.ts'
import type { EdgesById } from '../clients/queries.ts'
import type { Filters } from './filters.ts'
import { shownStates } from './shown-state.ts'

interface Props {
  readonly filters: Filters
  readonly set: (name: keyof Filters, value: string) => void
  readonly edges: EdgesById
  readonly error: Error | null
}

/** By label and state; and what a link has chosen, to be taken off again. */
export function FilterTools({ filters, set, edges, error }: Props) {
  const [selector, setSelector] = useState(filters.selector)
  const apply = useDebouncedCallback((next: string) => set('selector', next.trim()), 300)
  const states = filters.state.includes(',') ? [filters.state, ...shownStates] : shownStates
  return (
    <Group gap="sm" mb="sm" align="start" className="tools">
      <NativeSelect
        aria-label={text.rules.state}
        value={filters.state}
        onChange={event => set('state', event.currentTarget.value)}
        data={[
          { value: '', label: text.rules.anyState },
          ...states.map(value => ({
            value,
            label: value
              .split(',')
              .map(name => text.states[name as (typeof shownStates)[number]])
              .join(', ')
          }))
        ]}
      />
      <TextInput
        aria-label={text.rules.selector}
        placeholder={text.rules.selectorExample}
        value={selector}
        onChange={event => {
          setSelector(event.currentTarget.value)
          apply(event.currentTarget.value)
        }}
        error={fieldError(error, 'selector')}
        miw={260}
        autoCapitalize="none"
        spellCheck={false}
      />
      <Chosen
        name={filters.edge && text.rules.onEdge(edges.get(filters.edge)?.client_name ?? '…')}
        off={() => set('edge', '')}
      />
      <Chosen name={filters.owner && text.rules.ofOwner(filters.owner)} off={() => set('owner', '')} />
      <Chosen name={filters.targets && text.rules.targetsDown} off={() => set('targets', '')} />
    </Group>
  )
}

const Chosen = ({ name, off }: { readonly name: string; readonly off: () => void }) =>
  name !== '' && (
    <Button
      variant="light"
      onClick={off}
      aria-label={text.rules.takeOff(name)}
      rightSection={<span aria-hidden="true">✕</span>}
    >
      {name}
    </Button>
  )
