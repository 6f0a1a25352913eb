/** The icons of the console, drawn on a grid of 16, as lines in the colour of the text. */
const paths = {
  overview: "M2.5 2.5h4.5v6H2.5zM9 2.5h4.5v3.5H9zM9 8h4.5v5.5H9zM2.5 10.5H7v3H2.5z",
  machine:
    "M8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5zM8 1.5v2M8 12.5v2M1.5 8h2M12.5 8h2M3.4 3.4l1.4 1.4M11.2 11.2l1.4 1.4M3.4 12.6l1.4-1.4M11.2 4.8l1.4-1.4",
  instance: "M2 4h12M2 8h12M2 12h8",
  workflow: "M2 3.5h6M5 8h7M8 12.5h6",
  command: "M3 4.5 6.5 8 3 11.5M8.5 11.5H13",
  batch: "M3 2.5h6l3.5 3.5v7.5H3zM9 2.5V6h3.5M5.5 9h5M5.5 11.2h3",
  knowledge:
    "M4 6.2a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM12 8.7a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM5.5 14a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM5.9 4.9l4.2 1.3M4.4 6.2l.8 3.8M7 10.8l3.5-2.7",
  upload: "M8 10.5v-8M4.8 5.5 8 2.3l3.2 3.2M2.5 10v3.5h11V10",
  queue: "M2.5 3h11v3h-11zM2.5 7.5h11v2h-11zM2.5 11h11v2h-11z",
  node: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01",
  system: "M1.5 9h3l2-5.5 3 9 2-5h3",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.3 10.3 14 14",
  menu: "M2 4h12M2 8h12M2 12h12",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1",
  moon: "M13 9.8A5.5 5.5 0 0 1 6.2 3a5.5 5.5 0 1 0 6.8 6.8z",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  link: "M6.5 9.5l3-3M7 4.5 8.5 3a3.2 3.2 0 0 1 4.5 4.5L11.5 9M9 11.5 7.5 13A3.2 3.2 0 0 1 3 8.5L4.5 7",
  left: "M10 3.5 5.5 8l4.5 4.5",
  right: "M6 3.5 10.5 8 6 12.5",
  first: "M11.5 3.5 7 8l4.5 4.5M4.5 3.5v9",
  last: "M4.5 3.5 9 8l-4.5 4.5M11.5 3.5v9",
  up: "M8 13V3M4 7l4-4 4 4",
  check: "M3 8.5 6.5 12 13 4.5",
  alert: "M8 2 1.8 13.2h12.4zM8 6.5v3M8 11.5h.01",
  fork: "M5 2.5v11M5 8c4 0 6-1.5 6-4.5M3.5 2.5h3M9.5 3.5h3",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.5V8l2.5 1.5",
  send: "M2 8l12-5.5-3 11L7.5 9.5zM7.5 9.5 14 2.5",
  pause: "M5.5 3v10M10.5 3v10",
  play: "M4.5 2.5v11L13 8z",
  help: "M6 6a2 2 0 1 1 2.7 1.9c-.5.2-.7.6-.7 1.1v.5M8 12h.01M8 14.5A6.5 6.5 0 1 0 8 1.5a6.5 6.5 0 0 0 0 13z",
} as const

export type IconName = keyof typeof paths

export const Icon = ({ name, className = "" }: { readonly name: IconName; readonly className?: string }) => (
  <svg
    viewBox="0 0 16 16"
    aria-hidden="true"
    className={`size-4 shrink-0 fill-none stroke-current stroke-[1.5] ${className}`}
    strokeLinecap="round"
    strokeLinejoin="round"
  >
    <path d={paths[name]} />
  </svg>
)
