import { Button, Group, NativeSelect, SimpleGrid, TextInput } from '@mantine/core'
import { useState } from 'react'
import { FormError } from '../../parts/form/FormError.tsx'
import { fromLocalInput, toLocalInput } from '../../parts/local-time.ts'
import { text } from '../../text/text.ts'
import { UserSelect } from '../users/UserSelect.tsx'
import type { Filters } from './use-entries.ts'

interface Props {
  readonly filters: Filters
  readonly error: Error | null
  readonly onChange: (filters: Filters) => void
}

const noFilters: Filters = { actor: '', action: '', outcome: '', since: '', until: '', request_id: '' }

/** Filters of the audit log. They apply on submit, not while the user types. */
export function FilterForm({ filters, error, onChange }: Props) {
  const [form, setForm] = useState(filters)
  const set = (name: keyof Filters) => (value: string) => setForm({ ...form, [name]: value })
  const time = (name: 'since' | 'until') => (
    <TextInput
      type="datetime-local"
      label={text.audit[name]}
      value={toLocalInput(form[name])}
      onChange={event => set(name)(fromLocalInput(event.currentTarget.value) ?? '')}
    />
  )
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        onChange(form)
      }}
    >
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} mb="sm">
        <UserSelect label={text.audit.actor} value={form.actor} onChange={set('actor')} placeholder="" />
        <TextInput
          label={text.audit.action}
          placeholder={text.audit.actionHint}
          value={form.action}
          onChange={event => set('action')(event.currentTarget.value.trim())}
          autoCapitalize="none"
        />
        <NativeSelect
          label={text.audit.outcome}
          data={(['all', 'allow', 'deny'] as const).map(value => ({
            value: value === 'all' ? '' : value,
            label: text.audit.outcomes[value]
          }))}
          value={form.outcome}
          onChange={event => set('outcome')(event.currentTarget.value)}
        />
        {time('since')}
        {time('until')}
        <TextInput
          label={text.audit.request}
          value={form.request_id}
          onChange={event => set('request_id')(event.currentTarget.value.trim())}
        />
      </SimpleGrid>
      <FormError error={error} />
      <FilterButtons
        isFiltered={Object.values(filters).some(value => value !== '')}
        onClear={() => {
          setForm(noFilters)
          onChange(noFilters)
        }}
      />
    </form>
  )
}

interface ButtonsProps {
  readonly isFiltered: boolean
  readonly onClear: () => void
}

const FilterButtons = ({ isFiltered, onClear }: ButtonsProps) => (
  <Group mb="lg">
    <Button type="submit" variant="default">
      {text.audit.filter}
    </Button>
    {isFiltered && (
      <Button variant="subtle" onClick={onClear}>
        {text.audit.clear}
      </Button>
    )}
  </Group>
)
