<?php
// What the pages of the shop share. A page is whole when its last line says so.
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
set_exception_handler(function (Throwable $e) {
    http_response_code(500);
    echo 'error: ', htmlspecialchars($e->getMessage()), "\n";
});

function shop(): mysqli
{
    return new mysqli('localhost', 'root', '', 'shop', 0, '/scratch/mariadb.socket');
}

// asked is a whole number of the request.
function asked(array $from, string $name): int
{
    $n = filter_var($from[$name] ?? null, FILTER_VALIDATE_INT);
    if ($n === false) {
        throw new Exception("$name is not a number");
    }
    return $n;
}

// rows are those of a query; none is an error.
function rows(mysqli $shop, string $query, array $with): array
{
    $rows = $shop->execute_query($query, $with)->fetch_all(MYSQLI_ASSOC);
    if (!$rows) {
        throw new Exception('nothing found');
    }
    return $rows;
}

function table(array $rows): string
{
    $html = '<table><tr><th>' . implode('<th>', array_keys($rows[0])) . "\n";
    foreach ($rows as $row) {
        $html .= '<tr><td>' . implode('<td>', array_map(fn($v) => htmlspecialchars((string) $v), $row)) . "\n";
    }
    return $html . "</table>\n";
}

function page(string $title, string $body): void
{
    $title = htmlspecialchars($title);
    echo "<!DOCTYPE html>\n<title>$title</title>\n<h1>$title</h1>\n$body<!-- whole -->\n";
}
