import { Button, Menu } from '@mantine/core'
import { text } from '../text/text.ts'

interface RowAction {
  readonly label: string
  readonly run: () => void
  readonly isDangerous?: true
}

/** The actions of a table row, behind one button. */
export const RowMenu = ({
  row,
  actions
}: {
  readonly row: string
  readonly actions: readonly RowAction[]
}) => (
  <Menu position="bottom-end">
    <Menu.Target>
      <Button size="compact-sm" variant="default" aria-label={text.actions(row)}>
        ⋯
      </Button>
    </Menu.Target>
    <Menu.Dropdown>
      {actions.map(({ label, run, isDangerous }) => (
        <Menu.Item key={label} onClick={run} {...(isDangerous && { c: 'var(--bad)' })}>
          {label}
        </Menu.Item>
      ))}
    </Menu.Dropdown>
  </Menu>
)
